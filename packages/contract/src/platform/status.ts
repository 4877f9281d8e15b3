// What an organization has, by status, and how many hosts there are.

import { Type, type Static } from "typebox";
import { countedStatuses, countsBy, countsOf } from "../counts.ts";
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
  },
  {
    apps: 0,
    machines: 0,
    databases: 0,
    sandboxes: countsOf(sandboxes, { running: 3 }),
    hosts: countsOf(hostStatuses, { online: 1 }),
  },
);
export type Status = Static<typeof Status>;
