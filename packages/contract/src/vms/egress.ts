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
// So an allowed 0.0.0.0/0 is every public network, and of the private ones those that are granted.

import { Type, type Static } from "typebox";
import { exampleOf, named } from "../named.ts";
import { OneOf, Timestamp } from "../fields.ts";

const closed = { additionalProperties: false } as const;

/** Entries of each list in a policy. */
export const EGRESS_MAX_ENTRIES = 1_000;

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
  description: "Restricts allowed CIDRs to these TCP ports.",
});

export const EgressRequest = named(
  "EgressRequest",
  {
    mode: Type.Optional(EgressMode),
    allow_cidrs: Type.Optional(Cidrs("Allowed IPv4 networks; implies `deny_all`.")),
    deny_cidrs: Type.Optional(Cidrs("Denied IPv4 networks; wins over every allow.")),
    allow_ports: Type.Optional(Ports),
    dns: Type.Optional(
      Type.Boolean({
        description: "Whether names can be looked up. Default: true with `allow_all`, false with `deny_all`.",
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
  dns: Type.Boolean(),
};

const examplePolicy = {
  mode: "deny_all" as const,
  allow_cidrs: ["203.0.113.0/24"],
  deny_cidrs: [],
  allow_ports: [443],
  dns: false,
};

/** A whole policy: every field is there, CIDRs are canonical (no host bits), sorted and without duplicates. */
export const Egress = named("Egress", policyFields, examplePolicy);
export type Egress = Static<typeof Egress>;

/** Granted private networks of one organization. */
export const PRIVATE_CIDRS_MAX = 1_000;

/** A policy as a host gets it. */
export const HostEgress = Type.Object(
  {
    ...policyFields,
    /** Private networks that its allowed CIDRs may open. Absent: those that they name (`openPrivateCidrs`). */
    private_cidrs: Type.Optional(Type.Array(Type.String({ maxLength: 50 }), { maxItems: PRIVATE_CIDRS_MAX })),
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
  "rate_limit",
  "connection_limit",
] as const;

export const EgressDenial = named(
  "EgressDenial",
  {
    address: Type.String(),
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

const trafficFields = { counters: EgressCounters, denied: Type.Array(EgressDenial) };

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
