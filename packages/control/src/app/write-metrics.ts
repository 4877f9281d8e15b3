// Writes docs/metrics.md, which is committed, from the list of metrics itself. `--check` only says whether it is current.

import { readFile, writeFile } from "node:fs/promises";
import type { Family } from "../metrics/families.ts";
import { DatabaseMetrics } from "../metrics/database-metrics.ts";
import { Metrics } from "../metrics/metrics.ts";

const target = new URL("../../../../docs/metrics.md", import.meta.url);

const text = `# Metrics

\`GET /metrics\` answers in Prometheus' text format 0.0.4, or in OpenMetrics 1.0 where \`Accept\` prefers it. On the API's address it needs a token of the
operator's organization with the scope \`metrics:read\`. With \`SKERRY_METRICS_LISTEN=127.0.0.1:9070\` the same is served on that address without
a token, and nothing else is: everyone who can reach it can read it.

\`\`\`yaml
scrape_configs:
  - job_name: skerry
    static_configs: [{ targets: ["127.0.0.1:9070"] }]
\`\`\`

What a client sends makes no new series. \`path\` is the pattern of a route, or \`unknown\`; \`method\` is one of seven, or \`other\`; \`status\` is one
that we answer with, or 499 for a client that left before its answer. \`host\` is a host's name. No label holds an id but \`organization\`.

\`SKERRY_METRICS_ORGANIZATIONS=N\` (default 0, at most 1000) adds what organizations hold, for accounting: the N with the most memory by id, and all others together as
\`other\`. Who moves into the N or out of them begins or ends a series; choose N above the number of organizations that are to be billed.

This page is written by \`node packages/control/src/app/write-metrics.ts\`.

## Of one control process

Each replica counts its own; sum over them.

${list(new Metrics().families())}

## Of the platform

Read from the database, at most once a second however many scrape. Every replica tells the same; take one, or the maximum. The exceptions are
\`skerry_database_up\` and the queue \`database\`, which are each replica's own.

${list(new DatabaseMetrics().families())}

## Questions

- Share of requests that failed on our side: \`sum(rate(skerry_http_requests_total{status=~"5.."}[5m])) / sum(rate(skerry_http_requests_total[5m]))\`
- 99 of 100 sandboxes are usable within: \`histogram_quantile(0.99, sum by (le) (rate(skerry_sandbox_create_duration_seconds_bucket{outcome="ok"}[5m])))\`
- A background service has stood still for five minutes: \`time() - skerry_background_last_success_timestamp_seconds > 300\` (sweepers run every ten)
- A host is full: \`skerry_host_vm_memory_reserved_bytes / skerry_host_vm_memory_bytes > 0.9\`
- Memory of an organization over a month, in GiB hours: \`sum by (organization) (avg_over_time(skerry_organization_vm_memory_reserved_bytes[30d])) * 720 / 2^30\`
- Share of creations that found a clone waiting: \`sum(rate(skerry_host_warm_takes_total{result="taken"}[5m])) / sum(rate(skerry_host_warm_takes_total[5m]))\`
- A control process stands still for so long that clients notice: \`skerry_event_loop_delay_max_seconds > 0.5\` (\`skerry status\` shows it too)
- A machine ends again and again: \`skerry_machines_in_crash_loop > 0\` (\`skerry machine list --crash-loop\` names it)
- A machine runs and does not work: \`skerry_machines_unhealthy > 0\` (\`skerry machine list --unhealthy\` names it)
- A host cannot make the image of a template: \`skerry_templates{origin="built_in",status="failed"} > 0\`
- Share of builds that failed: \`sum(rate(skerry_build_duration_seconds_count{outcome="failed"}[1h])) / sum(rate(skerry_build_duration_seconds_count[1h]))\`
- The disk of a host is nearly full: \`skerry_host_disk_free_bytes / skerry_host_disk_bytes < 0.1\`
- The last backup is older than a day and an hour: \`time() - skerry_last_backup_timestamp_seconds > 90000\`
- A certificate ends within two weeks: \`skerry_certificate_expiry_timestamp_seconds - time() < 14 * 86400\`
- Someone tries tokens: \`sum(rate(skerry_requests_refused_total{code="unauthorized"}[5m])) > 1\`
- Events are missing from the audit log, and are in control's log instead: \`increase(skerry_audit_events_unstored_total[1h]) > 0\`
`;

if (!process.argv.includes("--check")) {
  await writeFile(target, text);
} else if ((await readFile(target, "utf8").catch(() => "")) !== text) {
  process.stderr.write(
    "docs/metrics.md is not current: run node packages/control/src/app/write-metrics.ts\n",
  );
  process.exitCode = 1;
}

function list(families: readonly Family[]): string {
  return families
    .map(({ name, type, labels, help }) => {
      const by = labels.length === 0 ? "" : ` by ${labels.map((label) => `\`${label}\``).join(", ")}`;
      return `- \`${name}\` (${type}${by}): ${help}`;
    })
    .join("\n");
}
