// What a VM or a build may reach, and what it was denied, as people read it.

import type { EgressDenial, EgressInjection } from "@skerry/sdk";
import type { Egress } from "@skerry/contract/vms/egress";
import { injectText } from "./inject-flag.ts";
import type { Output } from "../../output/output.ts";

/** The fields that say something, and `more` below them. */
export async function showEgressRules(
  output: Output,
  rules: Egress,
  more: readonly (readonly [name: string, value: string])[] = [],
): Promise<void> {
  const { mode, allow_cidrs, deny_cidrs, allow_ports, allow_domains, deny_domains, inject, dns } = rules;
  await output.fields(
    [
      ["mode", mode],
      ["allowed CIDRs", allow_cidrs.join(" ")],
      ["allowed ports", allow_ports.join(" ")],
      ["denied CIDRs", deny_cidrs.join(" ")],
      // An older server tells none.
      ["allowed domains", (allow_domains ?? []).join(" ")],
      ["denied domains", (deny_domains ?? []).join(" ")],
      ...(inject ?? []).map((rule) => ["injects", injectText(rule)]),
      ["DNS", dns ? "yes" : "no"],
      ...more,
    ]
      .map(([name = "", value = ""]) => [name, value] as const)
      .filter(([, value]) => value !== ""),
  );
}

/** Nothing where no rule is in force. */
export async function showInjections(output: Output, injected?: readonly EgressInjection[]): Promise<void> {
  if (injected === undefined) return;
  await output.line("");
  if (injected.length === 0) return output.line("No request has got a secret yet.");
  await output.table(
    ["INJECTED", "HOST", "REQUESTS", "LAST"],
    injected.map(({ secret, host, count, last_at }) => [secret, host, String(count), last_at]),
  );
}

export async function showDenials(output: Output, denied: readonly EgressDenial[]): Promise<void> {
  if (denied.length === 0) return output.line("Nothing was denied.");
  await output.table(
    ["DENIED", "PORT", "PROTOCOL", "RULE", "PACKETS", "LAST"],
    denied.map((denial) => [
      denial.domain ?? denial.address,
      denial.port === 0 ? "-" : String(denial.port),
      denial.protocol,
      denial.rule,
      String(denial.count),
      denial.last_at,
    ]),
  );
}
