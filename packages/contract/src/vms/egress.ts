// What a sandbox may reach. The same policy on `/v1`, in the database and on the host; the host compiles it to a rule set.
//
// A destination is decided in this order, for both directions of a connection:
//   1. never, under any policy: the host itself, other sandboxes, `neverNetworks` in `networks.ts` (link-local addresses, metadata
//      services, loopback, multicast, reserved), what the host's operator names in `SKERRY_NEVER_CIDRS`, and anything that is not IPv4
//   2. `deny_cidrs`                                                     rule `deny_cidr`
//   3. `privateNetworks` that the operator has not granted              rule `private_network`
//   4. `allow_cidrs`, on TCP ports `allow_ports` where there are any    (a denied port of an allowed CIDR: rule `port`)
//   5. private networks that no CIDR allows                             rule `private_network`
//   6. the mode: `allow_all` allows, `deny_all` denies                  rule `deny_all`
//
// A policy that has allowed or denied domains, or injects secrets, decides by names, and has this between 5 and 6:
//   - TCP to port 443 passes by the name in TLS's ClientHello (SNI), and TCP to port 80 by the `Host` of each HTTP request. The connection
//     is made by the host to what the name resolves to there, whatever address the guest has chosen: `deny_domains`, then `allow_domains`,
//     then the mode                                                     rules `deny_domain`, `domain`
//   - one that shows no name is denied: no SNI, an encrypted ClientHello, no HTTP; and so is UDP to port 443 (QUIC)    rule `no_domain`
//   - a name that resolves to what 1, 2 or 3 denies is denied by that rule
//   - with `deny_all`, other ports and protocols pass to public addresses that a lookup of an allowed domain was answered with, for its time
//     to live; TCP on `allow_ports` alone where there are any
// Lookups of names go by the same lists.
//
// So an allowed 0.0.0.0/0 is every public network, and of the private ones those that are granted.

import { Type, type Static } from "typebox";
import { exampleOf, named } from "../named.ts";
import { OneOf, Timestamp } from "../fields.ts";
import { Injection, InjectRules } from "./inject.ts";

const closed = { additionalProperties: false } as const;

/** Entries of each list in a policy. */
export const EGRESS_MAX_ENTRIES = 1_000;

/** Characters of a domain, with `*.` before it. */
const DOMAIN_MAX_CHARS = 255;

export const EgressMode = OneOf(["allow_all", "deny_all"], {
  description: "What happens to a destination that no CIDR names.",
});

const Cidrs = (description: string) =>
  Type.Array(Type.String({ maxLength: 50 }), {
    maxItems: EGRESS_MAX_ENTRIES,
    description,
    examples: [["203.0.113.0/24"]],
  });

const Ports = Type.Array(Type.Integer(), {
  maxItems: EGRESS_MAX_ENTRIES,
  description: "Restricts allowed CIDRs, and the addresses of allowed domains, to these TCP ports.",
});

const Domains = (description: string) =>
  Type.Array(Type.String({ maxLength: DOMAIN_MAX_CHARS }), {
    maxItems: EGRESS_MAX_ENTRIES,
    description,
    examples: [["example.com", "*.example.com"]],
  });

export const EgressRequest = named(
  "EgressRequest",
  {
    mode: Type.Optional(EgressMode),
    allow_cidrs: Type.Optional(Cidrs("Allowed IPv4 networks; implies `deny_all`.")),
    deny_cidrs: Type.Optional(Cidrs("Denied IPv4 networks; wins over every allow.")),
    allow_ports: Type.Optional(Ports),
    allow_domains: Type.Optional(
      Domains(
        "Allowed domains, by name for HTTP on port 80 and TLS on port 443, and for other protocols by the addresses that they are looked up to; implies `deny_all`. `*.example.com` is every name below `example.com`.",
      ),
    ),
    deny_domains: Type.Optional(
      Domains("Denied domains, for HTTP on port 80 and TLS on port 443; wins over allowed domains."),
    ),
    inject: Type.Optional(InjectRules),
    dns: Type.Optional(
      Type.Boolean({
        description:
          "Whether names can be looked up. Default: true with `allow_all` and with `allow_domains`, otherwise false.",
      }),
    ),
  },
  { allow_cidrs: ["203.0.113.0/24"], allow_ports: [443] },
);
export type EgressRequest = Static<typeof EgressRequest>;

const policyFields = {
  mode: EgressMode,
  allow_cidrs: Cidrs("Allowed IPv4 networks."),
  deny_cidrs: Cidrs("Denied IPv4 networks."),
  allow_ports: Ports,
  allow_domains: Type.Optional(Domains("Allowed domains. Absent where there are none.")),
  deny_domains: Type.Optional(Domains("Denied domains. Absent where there are none.")),
  inject: Type.Optional(InjectRules),
  dns: Type.Boolean(),
};

const examplePolicy = {
  mode: "deny_all" as const,
  allow_cidrs: ["203.0.113.0/24"],
  deny_cidrs: [],
  allow_ports: [443],
  dns: false,
};

/** A whole policy: every field is there but empty lists of domains; CIDRs are canonical (no host bits) and domains in lower case ASCII, sorted
 *  and without duplicates. */
export const Egress = named("Egress", policyFields, examplePolicy);
export type Egress = Static<typeof Egress>;

/** Whether a policy decides by names. Requests that get a secret are told by the name that they go to. */
export function hasDomains({
  allow_domains,
  deny_domains,
  inject,
}: Pick<Egress, "allow_domains" | "deny_domains" | "inject">): boolean {
  return allow_domains !== undefined || deny_domains !== undefined || inject !== undefined;
}

/** Granted private networks of one organization. */
export const PRIVATE_CIDRS_MAX = 1_000;

/** A policy as a host gets it. */
export const HostEgress = Type.Object(
  {
    ...policyFields,
    /** Private networks that its allowed CIDRs may open. Absent: those that they name (`openPrivateCidrs`). */
    private_cidrs: Type.Optional(Type.Array(Type.String({ maxLength: 50 }), { maxItems: PRIVATE_CIDRS_MAX })),
    /** Absent without rules. */
    injection: Type.Optional(Injection),
  },
  closed,
);
export type HostEgress = Static<typeof HostEgress>;

/** The rules that refuse, as they are told to the owner of a sandbox. */
export const denyRules = [
  "never",
  "deny_cidr",
  "port",
  "private_network",
  "deny_all",
  "dns",
  "deny_domain",
  "domain",
  "no_domain",
  "rate_limit",
  "connection_limit",
] as const;

export const EgressDenial = named(
  "EgressDenial",
  {
    address: Type.String({ description: "Empty where only the name is known." }),
    domain: Type.Optional(Type.String({ description: "The name that was refused, where names decide." })),
    port: Type.Integer({ description: "0 where the protocol has none." }),
    protocol: Type.String({ examples: ["tcp", "udp", "icmp"] }),
    rule: OneOf(denyRules),
    count: Type.Integer({ description: "Packets refused." }),
    last_at: Timestamp,
  },
  {
    address: "203.0.113.9",
    port: 25,
    protocol: "tcp",
    rule: "port",
    count: 3,
    last_at: "2026-11-20T16:22:00.000Z",
  },
);
export type EgressDenial = Static<typeof EgressDenial>;

export const EgressInjection = named(
  "EgressInjection",
  {
    host: Type.String({ description: "Name that the requests went to." }),
    secret: Type.String(),
    count: Type.Integer({ description: "Requests that got it." }),
    last_at: Timestamp,
  },
  { host: "api.example.com", secret: "API_KEY", count: 3, last_at: "2026-11-20T16:22:00.000Z" },
);
export type EgressInjection = Static<typeof EgressInjection>;

export const EgressCounters = named(
  "EgressCounters",
  {
    bytes_out: Type.Integer(),
    packets_out: Type.Integer(),
    bytes_in: Type.Integer(),
    packets_in: Type.Integer(),
  },
  { bytes_out: 1_200, packets_out: 10, bytes_in: 34_000, packets_in: 20 },
);
export type EgressCounters = Static<typeof EgressCounters>;

const trafficFields = {
  counters: EgressCounters,
  denied: Type.Array(EgressDenial),
  injected: Type.Optional(
    Type.Array(EgressInjection, {
      description:
        "Secrets that requests got on their way, newest first. Counted since the host's name proxy began; absent where there is no rule.",
    }),
  ),
};

/** Policy, traffic that passed, and the last denied destinations, newest first. Counters begin with the VM. */
export const EgressReport = named(
  "EgressReport",
  {
    ...policyFields,
    version: Type.Integer({
      minimum: 0,
      description: "Of the rules: it grows with each change of them. It is the `ETag` of this answer.",
    }),
    ...trafficFields,
  },
  {
    ...{ ...examplePolicy, version: 2 },
    ...{ counters: exampleOf(EgressCounters), denied: [exampleOf(EgressDenial)] },
  },
);
export type EgressReport = Static<typeof EgressReport>;

/** The same as a host tells it: what is in force there. */
export const HostEgressReport = Type.Object({ ...policyFields, ...trafficFields }, closed);
export type HostEgressReport = Static<typeof HostEgressReport>;
