// How many forks of a VM are made, and which snapshot one goes back to.

import { Type, type Static } from "typebox";
import { exampleIds } from "../example-ids.ts";
import { named } from "../named.ts";

/** Most VMs that one fork makes. */
const FORKS_MAX = 100;

export const ForkRequest = named(
  "ForkRequest",
  {
    count: Type.Optional(
      Type.Integer({ minimum: 1, maximum: FORKS_MAX, default: 1, description: "How many are made." }),
    ),
  },
  { count: 3 },
);
export type ForkRequest = Static<typeof ForkRequest>;

export const RollbackRequest = named(
  "RollbackRequest",
  {
    snapshot: Type.String({
      minLength: 1,
      maxLength: 100,
      description:
        "Id or name of a snapshot of the same template and size; of a machine also with the same main process.",
    }),
  },
  { snapshot: exampleIds.snapshot },
);
export type RollbackRequest = Static<typeof RollbackRequest>;
