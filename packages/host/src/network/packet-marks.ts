// The packet marks by which the two tables of a slot work together: the policy table marks a packet, and the
// base table accepts or refuses it by its mark. A packet without a mark, because no policy is loaded or none
// of its rules matched, is dropped.

import type { denyRules } from "@skerry/contract/vms/egress";

export type DenyRule = (typeof denyRules)[number];

export const PASS_MARK = 1;

/** Rules that a policy decides by. */
export const denyMarks = {
  never: 2,
  deny_cidr: 3,
  port: 4,
  private_network: 5,
  deny_all: 6,
  dns: 7,
} as const satisfies Partial<Record<DenyRule, number>>;
