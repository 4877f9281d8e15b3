// What an organization is told of its limits, and what the operator changes of them.

import { Type, type Static } from "typebox";
import { named } from "../named.ts";
import { Nullable } from "../fields.ts";
import { rateClasses } from "./rate-classes.ts";
import { exampleIds } from "../example-ids.ts";
import { LIMIT_MAX, limitNames, ORGANIZATION_RATE_FACTOR, quotaNames, type LimitName } from "./quotas.ts";

const closed = { additionalProperties: false } as const;

const Rate = Type.Object(
  {
    per_minute: Type.Integer({
      description: `Requests that every token may make in a minute, in the long run. All tokens of the organization together may make ${ORGANIZATION_RATE_FACTOR} times as many.`,
    }),
    burst: Type.Integer({
      description: `How many of them it may make at once after a pause; all together ${ORGANIZATION_RATE_FACTOR} times as many.`,
    }),
  },
  closed,
);

const Quota = Type.Object(
  {
    limit: Type.Integer(),
    used: Type.Integer({ description: "May be over the limit where that was lowered." }),
  },
  closed,
);

const limitsFields = {
  rates: Type.Object(fromNames(rateClasses, Rate), closed),
  quotas: Type.Object(fromNames(quotaNames, Quota), closed),
};

const exampleLimits = {
  rates: {
    read: { per_minute: 3_000, burst: 1_500 },
    write: { per_minute: 1_800, burst: 900 },
    expensive: { per_minute: 300, burst: 150 },
  },
  quotas: {
    sandboxes: { limit: 100, used: 3 },
    machines: { limit: 100, used: 0 },
    vcpus: { limit: 400, used: 3 },
    memory_mib: { limit: 204_800, used: 768 },
    disk_gib: { limit: 2_000, used: 24 },
    persistent_disk_gib: { limit: 1_000, used: 9 },
    snapshots: { limit: 100, used: 2 },
    snapshot_gib: { limit: 500, used: 1 },
    builds: { limit: 8, used: 1 },
    template_gib: { limit: 100, used: 3 },
    tokens: { limit: 1_000, used: 5 },
    apps: { limit: 100, used: 1 },
  },
};

export const Limits = named("Limits", limitsFields, exampleLimits);
export type Limits = Static<typeof Limits>;

const LimitValue = Type.Integer({ minimum: 0, maximum: LIMIT_MAX });

export const OrganizationLimitsReport = named(
  "OrganizationLimits",
  {
    organization_id: Type.String(),
    ...limitsFields,
    exceptions: Type.Object(fromNames(limitNames, Type.Optional(LimitValue)), {
      ...closed,
      description: "What the operator has set for this organization; everything else is the installation's.",
    }),
  },
  {
    organization_id: exampleIds.organization,
    ...exampleLimits,
    quotas: { ...exampleLimits.quotas, sandboxes: { limit: 500, used: 3 } },
    exceptions: { quota_sandboxes: 500 },
  },
);
export type OrganizationLimitsReport = Static<typeof OrganizationLimitsReport>;

export const LimitsChangeRequest = named(
  "LimitsChangeRequest",
  fromNames(
    limitNames,
    Type.Optional(Nullable(LimitValue, { description: "Null takes the installation's setting again." })),
  ),
  { quota_sandboxes: 500, rate_read_burst: null },
);
export type LimitsChangeRequest = Partial<Record<LimitName, number | null>>;

function fromNames<Name extends string, Schema>(
  names: readonly Name[],
  schema: Schema,
): Record<Name, Schema> {
  // Object.fromEntries forgets which names it was given.
  return Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>;
}
