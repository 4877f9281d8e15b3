// A thousand apps on simulated hosts: what control needs to look after them, and how long it lets others wait.

import { monitorEventLoopDelay } from "node:perf_hooks";
import { sql } from "kysely";
import { appDeployer } from "../packages/control/src/apps/app-deployer.ts";
import { openDatabase, type Database } from "../packages/control/src/db/database.ts";
import { migrate } from "../packages/control/src/db/migrations.ts";
import { bootstrap } from "../packages/control/src/organizations/tokens.ts";
import { simulatedContext } from "../packages/control/tests/support/simulated-context.ts";
import { SimulatedHosts } from "../packages/control/tests/support/simulated-hosts.ts";
import { Postgres } from "../tests/support/postgres.ts";
import type { Bench } from "./bench.ts";
import type { Measure } from "./results.ts";
import { range, Series } from "./series.ts";

const APPS = 1_000;
const HOSTS = 10;
const ROUTES = 10;
const never = new AbortController().signal;
const NS_PER_MS = 1_000_000;

export async function measureApps({ scale }: Pick<Bench, "scale">): Promise<Measure[]> {
  await using postgres = await Postgres.start();
  const db = openDatabase(postgres.url, () => undefined);
  try {
    await migrate(db);
    const { organization_id: orgId } = await bootstrap(db, "bench");
    const hosts = new SimulatedHosts(HOSTS);
    await hosts.join(db);
    await fillWithApps(db, orgId);
    const context = simulatedContext(db, hosts);
    const turn = new Series({
      what: `a look at ${APPS} apps with ${APPS * ROUTES} routes, all well`,
      unit: "ms",
      bar: "–",
    });
    const late = new Series({
      what: "… control lets other work wait meanwhile, at most",
      unit: "ms",
      bar: "≤ 20",
    });
    const change = new Series({
      what: "… one of them scaled: all hosts have been told",
      unit: "ms",
      bar: "–",
    });
    const service = appDeployer(context, 10_000);
    await service.activate(never);
    for (const round of range(scale.hosts.rounds * 2)) {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      await turn.time(() => service.activate(never));
      await sql`
        update app_instances set state = case when state = 'serving' then 'failed' else 'serving' end
        where app_id = (select id from apps order by id offset ${round} limit 1)`.execute(db);
      await change.time(() => service.activate(never));
      delay.disable();
      // The timer of the measure itself is a millisecond.
      late.add(Math.max(0, delay.max / NS_PER_MS - 1));
    }
    return [turn.measure, late.measure, change.measure];
  } finally {
    await db.destroy();
  }
}

/** Each with a live release, an instance that runs and serves, and routes; written past the API. */
async function fillWithApps(db: Database, orgId: string): Promise<void> {
  const manifest = {
    processes: { web: { command: "serve" } },
    services: [{ group: "web", port: 8080, protocol: "http", check: { path: "/", port: 8080 } }],
    ...{ strategy: "rolling", watch: "0s", drain_timeout: "30s", timeout: "5m" },
  };
  await sql`
    update hosts set status = 'online', facts = jsonb_build_object('edge_door', '192.0.2.1:' || (7000 + number))
    from (select id, row_number() over (order by id) as number from hosts) as numbered
    where hosts.id = numbered.id`.execute(db);
  const ids = sql`generate_series(1, ${APPS}::integer) n`;
  const app = sql`'app_' || lpad(n::text, 26, '0')`;
  const machine = sql`'mch_' || lpad(n::text, 26, '0')`;
  await sql`
    insert into apps (id, org_id, name, status, label, scale, live, next_release)
    select ${app}, ${orgId}, 'app-' || n, 'active', 'app-' || n, '{}', 1, 2 from ${ids}`.execute(db);
  await sql`
    insert into releases (app_id, number, template, env, secrets, manifest)
    select ${app}, 1, 'base', '{}', '[]', ${JSON.stringify(manifest)}::jsonb from ${ids}`.execute(db);
  await sql`
    insert into machines (id, org_id, template, size, vcpus, memory_mib, disk_gib, status, execution_id, host_id, env,
                          metadata, egress, stop_timeout_ms, restart_policy, restart_max_retries, restart_disk, started_at,
                          owner_kind, owner_id, owner_name)
    select ${machine}, ${orgId}, 'base', 'shared-cpu-1x', 1, 256, 1, 'running', 'inc_' || n,
           (select id from hosts order by id offset n % ${HOSTS} limit 1), '{}', '{}', '{}', 10000, 'no', 10, 'disposable', now(),
           'app', ${app}, 'app-' || n
    from ${ids}`.execute(db);
  await sql`
    insert into app_instances (machine_id, app_id, release, group_name, number, state, serving_since)
    select ${machine}, ${app}, 1, 'web', 1, 'serving', now() from ${ids}`.execute(db);
  await sql`
    insert into routes (id, app_id, subdomain, path_prefix, group_name, strip_prefix, sticky)
    select 'rte_' || lpad(n::text, 13, '0') || lpad(r::text, 13, '0'), ${app}, '', '/r' || r || '/', 'web', false, false
    from ${ids}, generate_series(1, ${ROUTES}) r`.execute(db);
  await sql`analyze`.execute(db);
}
