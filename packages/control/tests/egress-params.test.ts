import fc from "fast-check";
import { expect, test } from "vitest";
import type { EgressRequest } from "@skerry/contract/vms/egress";
import { SkerryError } from "@skerry/contract/errors";
import { readEgress } from "../src/vms/egress/egress-params.ts";

const nothing = { mode: "allow_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: true };
const closed = { ...nothing, mode: "deny_all", dns: false };
const lan = { ...closed, allow_cidrs: ["10.0.0.0/8"] };

test.each<readonly [what: string, request: EgressRequest, policy: unknown]>([
  ["nothing", {}, nothing],
  ["a mode", { mode: "deny_all" }, closed],
  ["deny_all with names", { mode: "deny_all", dns: true }, { ...closed, dns: true }],
  ["allow_all without names", { dns: false }, { ...nothing, dns: false }],
  ["an allowed CIDR, which implies deny_all", { allow_cidrs: ["10.0.0.0/8"] }, lan],
  ["the same with its mode", { mode: "deny_all", allow_cidrs: ["10.0.0.0/8"] }, lan],
  ["an empty list of allowed CIDRs, which allows nothing", { allow_cidrs: [] }, closed],
  ["allow_all beside an empty list", { mode: "allow_all", allow_cidrs: [] }, nothing],
  ["a denied CIDR", { deny_cidrs: ["10.0.0.0/8"] }, { ...nothing, deny_cidrs: ["10.0.0.0/8"] }],
  ["a bare address", { deny_cidrs: ["1.2.3.4"] }, { ...nothing, deny_cidrs: ["1.2.3.4/32"] }],
  [
    "an allowed domain, which implies deny_all and lookups",
    { allow_domains: ["*.Example.COM.", "example.com", "bücher.example", "EXAMPLE.com"] },
    { ...closed, allow_domains: ["*.example.com", "example.com", "xn--bcher-kva.example"], dns: true },
  ],
  ["a denied domain", { deny_domains: ["a.example"] }, { ...nothing, deny_domains: ["a.example"] }],
  ["an empty list of allowed domains", { allow_domains: [] }, closed],
  ["everything", { allow_cidrs: ["0.0.0.0/0"] }, { ...closed, allow_cidrs: ["0.0.0.0/0"] }],
  [
    "CIDRs in disorder and twice",
    { deny_cidrs: ["200.0.0.0/8", "9.0.0.0/8", "10.0.0.0/16", "10.0.0.0/8", "9.0.0.0/8"] },
    { ...nothing, deny_cidrs: ["9.0.0.0/8", "10.0.0.0/8", "10.0.0.0/16", "200.0.0.0/8"] },
  ],
  [
    "ports in disorder and twice",
    { allow_cidrs: ["10.0.0.0/8"], allow_ports: [443, 80, 65_535, 1, 443] },
    { ...lan, allow_ports: [1, 80, 443, 65_535] },
  ],
  [
    "ports of an allowed domain's addresses",
    { allow_domains: ["example.com"], allow_ports: [22] },
    { ...closed, allow_domains: ["example.com"], allow_ports: [22], dns: true },
  ],
  [
    "a network that only begins among those that are never reached",
    { allow_cidrs: ["128.0.0.0/1", "169.0.0.0/8"] },
    { ...closed, allow_cidrs: ["128.0.0.0/1", "169.0.0.0/8"] },
  ],
])("%s is a whole policy", (_what, request, policy) => {
  expect(readEgress(request)).toEqual(policy);
});

type Refusal = readonly [what: string, request: EgressRequest, code: string, field: string, says: string];

test.each<Refusal>([
  ["too long a prefix", { allow_cidrs: ["10.0.0.0/33"] }, "invalid_cidr", "allow_cidrs[0]", "longer than 32"],
  ["host bits", { allow_cidrs: ["10.0.0.1/8"] }, "invalid_cidr", "allow_cidrs[0]", '"10.0.0.0/8"'],
  ["high host bits", { deny_cidrs: ["255.255.255.255/1"] }, "invalid_cidr", "deny_cidrs[0]", '"128.0.0.0/1"'],
  ["a bit in all of it", { deny_cidrs: ["0.0.0.1/0"] }, "invalid_cidr", "deny_cidrs[0]", '"0.0.0.1/32"'],
  ["the third entry", { deny_cidrs: ["1.1.1.1", "2.2.2.2", "x"] }, "invalid_cidr", "deny_cidrs[2]", '"x"'],
  ["a name", { deny_cidrs: ["example.com"] }, "invalid_cidr", "deny_cidrs[0]", "not an IPv4 network"],
  ["IPv6", { allow_cidrs: ["2001:db8::/32"] }, "invalid_cidr", "allow_cidrs[0]", "IPv6 is not available"],
  ["mapped IPv4", { allow_cidrs: ["::ffff:1.2.3.4"] }, "invalid_cidr", "allow_cidrs[0]", "IPv6"],
  ["three octets", { deny_cidrs: ["10.0.0/8"] }, "invalid_cidr", "deny_cidrs[0]", "203.0.113.0/24"],
  ["five octets", { deny_cidrs: ["10.0.0.0.0/8"] }, "invalid_cidr", "deny_cidrs[0]", "not an IPv4"],
  ["a large octet", { deny_cidrs: ["10.0.0.256"] }, "invalid_cidr", "deny_cidrs[0]", "above 255"],
  ["an octal octet", { deny_cidrs: ["010.0.0.0/8"] }, "invalid_cidr", "deny_cidrs[0]", "leading zero"],
  ["a padded prefix", { deny_cidrs: ["10.0.0.0/08"] }, "invalid_cidr", "deny_cidrs[0]", "leading zero"],
  ["a netmask", { deny_cidrs: ["10.0.0.0/255.0.0.0"] }, "invalid_cidr", "deny_cidrs[0]", "not an IPv4"],
  ["no prefix after the slash", { deny_cidrs: ["10.0.0.0/"] }, "invalid_cidr", "deny_cidrs[0]", "not an"],
  ["a negative prefix", { deny_cidrs: ["10.0.0.0/-1"] }, "invalid_cidr", "deny_cidrs[0]", "not an IPv4"],
  ["a space", { deny_cidrs: [" 10.0.0.0/8"] }, "invalid_cidr", "deny_cidrs[0]", "not an IPv4 network"],
  ["a line break", { deny_cidrs: ["10.0.0.0/8\n"] }, "invalid_cidr", "deny_cidrs[0]", "not an IPv4"],
  ["other digits", { deny_cidrs: ["１0.0.0.0/8"] }, "invalid_cidr", "deny_cidrs[0]", "not an IPv4"],
  ["an empty entry", { deny_cidrs: [""] }, "invalid_cidr", "deny_cidrs[0]", '""'],
  ...[
    "*",
    "*.",
    "a.*.example",
    "*a.example",
    "",
    ".",
    "a..b",
    "-a.example",
    "a b.example",
    "1.2.3.4",
    "*.1",
    "0x7f.0x1",
  ].map((entry): Refusal => [
    `the domain "${entry}"`,
    { allow_domains: ["a.example", entry] },
    "invalid_domain",
    "allow_domains[1]",
    `"${entry}"`,
  ]),
  ["an IPv6 address for a domain", { deny_domains: ["[::1]"] }, "invalid_domain", "deny_domains[0]", "[::1]"],
  ["a long label", { deny_domains: ["a".repeat(64)] }, "invalid_domain", "deny_domains[0]", "not a domain"],
  [
    "allow_all with allowed domains",
    { mode: "allow_all", allow_domains: ["a.example"] },
    "egress_conflict",
    "allow_domains",
    "a.example",
  ],
  [
    "port 0",
    { allow_cidrs: ["1.1.1.1"], allow_ports: [443, 0] },
    "invalid_port",
    "allow_ports[1]",
    "1 to 65535",
  ],
  [
    "port 70000",
    { allow_cidrs: ["1.1.1.1"], allow_ports: [70_000] },
    "invalid_port",
    "allow_ports[0]",
    "70000",
  ],
  ["port -1", { allow_cidrs: ["1.1.1.1"], allow_ports: [-1] }, "invalid_port", "allow_ports[0]", "-1"],
  ["a wrong port without CIDRs", { allow_ports: [0] }, "invalid_port", "allow_ports[0]", "0"],
  [
    "allow_all with allowed CIDRs",
    { mode: "allow_all", allow_cidrs: ["1.1.1.1"] },
    "egress_conflict",
    "allow_cidrs",
    "1.1.1.1/32",
  ],
  ["ports alone", { allow_ports: [443] }, "egress_conflict", "allow_ports", "0.0.0.0/0"],
  [
    "ports of nobody",
    { allow_cidrs: [], allow_ports: [443] },
    "egress_conflict",
    "allow_ports",
    "no CIDR or domain is",
  ],
  [
    "ports of denied",
    { deny_cidrs: ["1.1.1.1"], allow_ports: [443] },
    "egress_conflict",
    "allow_ports",
    "443",
  ],
  ...["169.254.169.254", "127.0.0.0/8", "224.0.0.1", "239.0.0.0/8", "255.255.255.255", "0.1.0.0/16"].map(
    (never): Refusal => [
      never,
      { allow_cidrs: ["1.1.1.1", never] },
      "egress_conflict",
      "allow_cidrs[1]",
      "can never be reached",
    ],
  ),
])("%s is refused by name", (...[, request, code, field, says]) => {
  const refused = refusalOf(request);
  expect([refused.code, refused.context?.["field"]]).toEqual([code, field]);
  expect(`${refused.message} ${refused.remediation}`).toContain(says);
  expect(refusalOf(request, "egress").context?.["field"]).toBe(`egress.${field}`);
});

function refusalOf(request: EgressRequest, at: "egress" | "" = ""): SkerryError {
  try {
    readEgress(request, at);
  } catch (error) {
    if (error instanceof SkerryError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

/** Networks in canonical form, and a way to write each of them. */
const network = fc
  .tuple(fc.nat(0xffff_ffff), fc.integer({ min: 0, max: 32 }))
  .map(([bits, prefix]) => [bits - (bits % 2 ** (32 - prefix)), prefix] as const);
const written = network.map(([address, prefix]) => {
  const octets = [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
  return prefix === 32 ? octets : `${octets}/${prefix}`;
});
const request = fc.record(
  {
    mode: fc.constantFrom("allow_all" as const, "deny_all" as const),
    allow_cidrs: fc.array(written, { maxLength: 5 }),
    deny_cidrs: fc.array(written, { maxLength: 5 }),
    allow_ports: fc.array(fc.integer({ min: 1, max: 65_535 }), { maxLength: 3 }),
    dns: fc.boolean(),
  },
  { requiredKeys: [] },
);

test("a policy sent back as a request is the same policy, and order and repetition say nothing", () => {
  fc.assert(
    fc.property(request, (asked) => {
      const policy = policyOf(asked);
      fc.pre(policy !== undefined);
      expect(readEgress(policy)).toEqual(policy);
      const shuffled = {
        ...asked,
        ...(asked.allow_cidrs && { allow_cidrs: [...asked.allow_cidrs.toReversed(), ...asked.allow_cidrs] }),
        ...(asked.deny_cidrs && { deny_cidrs: [...asked.deny_cidrs.toReversed(), ...asked.deny_cidrs] }),
        ...(asked.allow_ports && { allow_ports: [...asked.allow_ports.toReversed(), ...asked.allow_ports] }),
      };
      expect(readEgress(shuffled)).toEqual(policy);
    }),
  );
});

test("whatever the text, it is read as a network that says the same or refused by name", () => {
  const text = fc.oneof(
    fc.string(),
    written,
    fc.stringMatching(/^[0-9]{1,3}(\.[0-9]{1,3}){3}(\/[0-9]{1,2})?$/),
  );
  fc.assert(
    fc.property(text, (entry) => {
      const policy = policyOf({ deny_cidrs: [entry] });
      if (policy === undefined) expect(refusalOf({ deny_cidrs: [entry] }).code).toBe("invalid_cidr");
      else expect(policy.deny_cidrs).toEqual([entry.includes("/") ? entry : `${entry}/32`]);
    }),
  );
});

function policyOf(asked: EgressRequest) {
  try {
    return readEgress(asked);
  } catch (error) {
    if (error instanceof SkerryError) return undefined;
    throw error;
  }
}
