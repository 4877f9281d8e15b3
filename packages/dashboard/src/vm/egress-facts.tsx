// What sandboxes, machines and builds tell of their egress alike: what was denied, and the rules.

import type { EgressDenial, EgressReport } from "@skerry/sdk";
import type { Fact } from "../ui/panel.tsx";
import { countText } from "../ui/text.ts";
import { When } from "../ui/when.tsx";

/** `example.com:443`; of what has no port, the name or the address alone. */
export function placeOf({ address, domain = address, port }: EgressDenial): string {
  return [domain, ...(port === 0 ? [] : [port])].filter((part) => part !== "").join(":");
}

export function denialKey({ domain, address, port, protocol, rule }: EgressDenial): string {
  return `${domain} ${address}:${port}/${protocol} ${rule}`;
}

export function DenialFacts({ denial }: { readonly denial: EgressDenial }) {
  const { protocol, rule, count, last_at: last } = denial;
  return (
    <>
      <code>{placeOf(denial)}</code> {protocol}
      <span class="muted">
        {" "}
        {countText(count)} × · <When at={last} /> · <code>{rule}</code>
      </span>
    </>
  );
}

/** Nothing without rules, which most policies have none of. */
function injectFacts(rules: EgressReport["inject"] = []): readonly Fact[] {
  if (rules.length === 0) return [];
  return [["Secrets on the way", rules.map(({ secret, host }) => `${secret} to ${host}`).join(", ")]];
}

export function ruleFacts(rules: Omit<EgressReport, "counters" | "denied" | "version">): readonly Fact[] {
  const list = (items: readonly (string | number)[]) => (items.length === 0 ? null : items.join(", "));
  return [
    ["Mode", rules.mode],
    ["Allowed networks", list(rules.allow_cidrs)],
    ["Allowed ports", list(rules.allow_ports)],
    ["Denied networks", list(rules.deny_cidrs)],
    ["Allowed domains", list(rules.allow_domains ?? [])],
    ["Denied domains", list(rules.deny_domains ?? [])],
    ...injectFacts(rules.inject),
    ["Names", rules.dns ? "can be looked up" : "cannot be looked up"],
  ];
}
