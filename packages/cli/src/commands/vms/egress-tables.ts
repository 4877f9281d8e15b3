// What a VM or a build may reach, and what it was denied, as people read it.

import type { EgressDenial } from "@skerry/sdk";
import type { Egress } from "@skerry/contract/vms/egress";
import type { Output } from "../../output/output.ts";

/** The fields that say something, and `more` below them. */
export async function showEgressRules(
  output: Output,
  rules: Egress,
  more: readonly (readonly [name: string, value: string])[] = [],
): Promise<void> {
  const { mode, allow_cidrs, deny_cidrs, allow_ports, allow_domains, deny_domains, dns } = rules;
  await output.fields(
    [
      ["mode", mode],
      ["allowed CIDRs", allow_cidrs.join(" ")],
      ["allowed ports", allow_ports.join(" ")],
      ["denied CIDRs", deny_cidrs.join(" ")],
      // An older server tells none.
      ["allowed domains", (allow_domains ?? []).join(" ")],
      ["denied domains", (deny_domains ?? []).join(" ")],
      ["DNS", dns ? "yes" : "no"],
      ...more,
    ]
      .map(([name = "", value = ""]) => [name, value] as const)
      .filter(([, value]) => value !== ""),
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
