// What an organization has, by status, and how many hosts there are.

import { Type, type Static } from "typebox";
import { countedStatuses, countsBy, countsOf } from "../counts.ts";
import { Nullable, Timestamp } from "../fields.ts";
import { hostStatuses } from "../hosts/host-status.ts";
import { named } from "../named.ts";
import { sandboxStatuses } from "../sandboxes/sandbox-status.ts";

const count = Type.Integer({ minimum: 0 });
const sandboxes = countedStatuses(sandboxStatuses);

export const Status = named(
  "Status",
  {
    apps: count,
    machines: count,
    databases: count,
    sandboxes: countsBy(sandboxes, "Those of the organization that are not destroyed, by status."),
    hosts: countsBy(
      hostStatuses,
      "All hosts of the platform, by status. One that was silent for 30 s counts as offline.",
    ),
    last_backup: Nullable(
      Type.String({
        ...Timestamp,
        description: "When `skerry backup` last wrote one. Null: never, or the token may not read hosts.",
      }),
    ),
  },
  {
    apps: 0,
    machines: 0,
    databases: 0,
    sandboxes: countsOf(sandboxes, { running: 3 }),
    hosts: countsOf(hostStatuses, { online: 1 }),
    last_backup: "2026-11-20T03:30:04.123Z",
  },
);
export type Status = Static<typeof Status>;
