import type { Egress, HostEgress } from "@skerry/contract/vms/egress";
import fc from "fast-check";
import { expect, test } from "vitest";
import { namedMark } from "../src/network/named-addresses.ts";
import { policyRulesScript } from "../src/network/policy-rules.ts";

const closed: Egress = { mode: "deny_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: false };
const facts = {
  hostAddresses: ["192.0.2.7"],
  neverCidrs: ["10.9.0.0/16"],
  slotRange: "198.18.0.0/19",
  resolver: { address: "198.18.0.1", port: 10_053 },
  nameProxyPort: 10_054,
};
const compiled = (policy: Partial<HostEgress>): string =>
  policyRulesScript({ ...closed, ...policy }, facts, "replace");

/** What decides, in its order, without the sets. */
function decisions(policy: Partial<HostEgress>): string[] {
  const lines = compiled(policy)
    .split("\n")
    .map((line) => line.trim());
  const begin = lines.findIndex((line) => line.startsWith("type filter hook forward"));
  return lines.slice(begin + 1, lines.indexOf("}", begin));
}

test("a policy that allows nothing is this whole table", () => {
  expect(compiled({})).toBe(`table inet skerry_policy {}
delete table inet skerry_policy
table inet skerry_policy {
  set never {
    type ipv4_addr; flags interval; auto-merge;
    elements = { 0.0.0.0/8, 100.100.100.200/32, 127.0.0.0/8, 168.63.129.16/32, 169.254.0.0/16, 192.0.0.0/24, 224.0.0.0/4, 240.0.0.0/4, 10.9.0.0/16, 198.18.0.0/19, 192.0.2.7 }
  }
  set private_networks {
    type ipv4_addr; flags interval; auto-merge;
    elements = { 10.0.0.0/8, 100.64.0.0/10, 172.16.0.0/12, 192.168.0.0/16, 198.18.0.0/15 }
  }
  set private_cidrs {
    type ipv4_addr; flags interval; auto-merge;
  }
  set deny_cidrs {
    type ipv4_addr; flags interval; auto-merge;
  }
  set allow_cidrs {
    type ipv4_addr; flags interval; auto-merge;
  }
  set allow_ports {
    type inet_service;
  }
  chain verdict {
    type filter hook forward priority 0; policy accept;
    ct original ip daddr 169.254.0.22 meta mark set 7 accept
    ct original ip daddr @never meta mark set 2 accept
    ct original ip daddr @deny_cidrs meta mark set 3 accept
    ct original ip daddr @private_networks ct original ip daddr != @private_cidrs meta mark set 5 accept
    ct original ip daddr @allow_cidrs meta mark set 1 accept
    ct original ip daddr @private_networks meta mark set 5 accept
    meta mark set 6 accept
  }
}
`);
});

test("with ports, an allowed network passes TCP to them and answers about it, and nothing else", () => {
  expect(decisions({ allow_cidrs: ["203.0.113.0/24"], allow_ports: [80, 443] }).slice(4, 7)).toEqual([
    "ct original ip daddr @allow_cidrs meta l4proto tcp ct original proto-dst @allow_ports meta mark set 1 accept",
    "ct original ip daddr @allow_cidrs ct original protocol tcp ct state related ct direction reply meta mark set 1 accept",
    "ct original ip daddr @allow_cidrs meta mark set 4 accept",
  ]);
});

test("the mode speaks last, and names are sent on only where they may be looked up", () => {
  expect(decisions({ mode: "allow_all" }).at(-1)).toBe("meta mark set 1 accept");
  expect(decisions({ mode: "deny_all" }).at(-1)).toBe("meta mark set 6 accept");
  expect(compiled({ dns: false })).not.toContain("dnat");
  expect(compiled({ dns: true })).toContain("th dport 53 dnat ip to 198.18.0.1:10053");
  expect(decisions({ dns: true })[0]).toBe("ct original ip daddr 169.254.0.22 meta mark set 1 accept");
});

test("names decide HTTP and TLS behind every denial, and what is neither passes to what they have led to", () => {
  const named = {
    allow_domains: ["example.com"],
    allow_cidrs: ["203.0.113.0/24"],
    allow_ports: [22],
    dns: true,
  };
  const mark = namedMark({ ...closed, ...named });
  expect(decisions(named)).toEqual([
    "ct original ip daddr 169.254.0.22 iifname tap0 limit rate over 500/second burst 1000 packets drop",
    "ct original ip daddr 169.254.0.22 meta l4proto udp ct reply proto-src 10054 meta mark set 1 accept",
    "ct original ip daddr 169.254.0.22 meta l4proto tcp ct reply proto-src 10054 meta mark set 1 accept",
    "ct original ip daddr 169.254.0.22 meta mark set 7 accept",
    "ct original ip daddr @never meta mark set 2 accept",
    "ct original ip daddr @deny_cidrs meta mark set 3 accept",
    "ct original ip daddr @private_networks ct original ip daddr != @private_cidrs meta mark set 5 accept",
    "ct original ip daddr @allow_cidrs meta l4proto tcp ct original proto-dst @allow_ports meta mark set 1 accept",
    "ct original ip daddr @allow_cidrs ct original protocol tcp ct state related ct direction reply meta mark set 1 accept",
    "ct original ip daddr @private_networks meta mark set 5 accept",
    "meta l4proto tcp ct reply ip saddr 198.18.0.1 ct reply proto-src { 10055, 10056 } limit rate over 100 mbytes/second burst 20 mbytes drop",
    "meta l4proto tcp ct reply ip saddr 198.18.0.1 ct reply proto-src { 10055, 10056 } meta mark set 1 accept",
    "meta l4proto tcp ct original proto-dst { 80, 443 } meta mark set 8 accept",
    "meta l4proto udp ct original proto-dst 443 meta mark set 8 accept",
    "ct original ip daddr @allow_cidrs meta mark set 4 accept",
    `ct mark ${mark} meta mark set 1 accept`,
    `ct original ip daddr @named meta l4proto tcp ct original proto-dst @allow_ports ct direction original ct mark set ${mark} meta mark set 1 accept`,
    "meta mark set 6 accept",
  ]);
  expect(compiled(named)).toContain("th dport 53 dnat ip to 198.18.0.1:10054");
  expect(compiled({})).not.toContain("10055");
});

test("a private network is open where it is granted, and where a policy of before grants names it", () => {
  const granted = (policy: Partial<HostEgress>): string | undefined =>
    /set private_cidrs \{[^}]*elements = \{ (.*) \}/.exec(compiled(policy))?.[1];
  const allow_cidrs = ["0.0.0.0/0", "10.1.0.0/16", "172.0.0.0/8", "203.0.113.0/24"];
  expect(granted({ allow_cidrs })).toBe("10.1.0.0/16");
  expect(granted({ allow_cidrs, private_cidrs: ["172.20.0.0/16"] })).toBe("172.20.0.0/16");
  expect(granted({ allow_cidrs, private_cidrs: [] })).toBeUndefined();
});

test("a first policy cannot add to one that is there, and a later one replaces it whole", () => {
  expect(policyRulesScript(closed, facts, "first").startsWith("create table inet skerry_policy\n")).toBe(
    true,
  );
  expect(policyRulesScript(closed, facts, "first")).not.toContain("delete");
});

const octet = fc.integer({ min: 0, max: 255 });
const cidr = fc.tuple(octet, octet).map(([one, two]) => `${one}.${two}.0.0/16`);
const policies = fc.record({
  mode: fc.constantFrom("allow_all" as const, "deny_all" as const),
  allow_cidrs: fc.array(cidr),
  deny_cidrs: fc.array(cidr),
  allow_ports: fc.array(fc.integer({ min: 1, max: 65_535 })),
  dns: fc.boolean(),
});

test("whatever the policy, denials stand before what could allow, and every rule ends in a decision", () => {
  fc.assert(
    fc.property(policies, (policy) => {
      const rules = decisions(policy);
      const first = (part: string): number => rules.findIndex((rule) => rule.includes(part));
      expect([first("@never"), first("@deny_cidrs")]).toEqual([1, 2]);
      expect(first("!= @private_cidrs")).toBe(3);
      expect(first("@allow_cidrs")).toBe(4);
      expect(rules.at(-2)).toMatch(/@private_networks meta/);
      for (const rule of rules) expect(rule).toMatch(/meta mark set [1-7] accept$/);
    }),
  );
});
