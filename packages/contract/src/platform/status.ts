// What an organization has, by status, and how many hosts there are.

import { Type, type Static } from "typebox";
import { named } from "../named.ts";

const closed = { additionalProperties: false } as const;

const count = Type.Integer({ minimum: 0 });
const counts = <Name extends string>(description: string, ...names: readonly Name[]) =>
  Type.Object(
    // From entries the names have become strings.
    Object.fromEntries(names.map((name) => [name, count])) as Record<Name, typeof count>,
    { description, ...closed },
  );
export const Status = named(
  "Status",
  {
    apps: count,
    machines: count,
    databases: count,
    sandboxes: counts(
      "Those of the organization that are not destroyed, by status.",
      "creating",
      "running",
      "unreachable",
      "failed",
      "destroying",
    ),
    hosts: counts(
      "All hosts of the platform, by status. One that was silent for 30 s counts as offline.",
      "online",
      "offline",
      "draining",
      "maintenance",
    ),
  },
  {
    apps: 0,
    machines: 0,
    databases: 0,
    sandboxes: { creating: 0, running: 3, unreachable: 0, failed: 0, destroying: 0 },
    hosts: { online: 1, offline: 0, draining: 0, maintenance: 0 },
  },
);
export type Status = Static<typeof Status>;
