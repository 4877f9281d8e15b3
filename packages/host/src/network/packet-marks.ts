// The packet marks by which the two tables of a slot work together: the policy table marks a packet, and the
// base table accepts or refuses it by its mark. A packet without a mark, because no policy is loaded or none
// of its rules matched, is dropped.

import { denyRules } from "@skerry/contract/vms/egress";

export type DenyRule = Exclude<(typeof denyRules)[number], "domain" | "deny_domain">;

/** Those that a packet can be refused by: a name is not in one. */
export const packetRules = denyRules.filter(
  (rule): rule is DenyRule => rule !== "domain" && rule !== "deny_domain",
);

export const PASS_MARK = 1;

/** Rules that a policy decides by. */
export const denyMarks = {
  never: 2,
  deny_cidr: 3,
  port: 4,
  private_network: 5,
  deny_all: 6,
  dns: 7,
  no_domain: 8,
} as const satisfies Partial<Record<DenyRule, number>>;
