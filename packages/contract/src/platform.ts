// What the platform says of itself: health, sizes and templates.

import { Type, type Static } from "typebox";
import { OneOf } from "./common.ts";

const closed = { additionalProperties: false } as const;

export const Health = Type.Object({ status: Type.Literal("healthy") }, { $id: "Health", ...closed });
export type Health = Static<typeof Health>;

const count = Type.Integer({ minimum: 0 });
const counts = <Name extends string>(description: string, ...names: readonly Name[]) =>
  Type.Object(
    // From entries the names have become strings.
    Object.fromEntries(names.map((name) => [name, count])) as Record<Name, typeof count>,
    { description, ...closed },
  );
export const Status = Type.Object(
  {
    apps: count,
    machines: count,
    databases: count,
    sandboxes: counts(
      "Those of the organization that are not destroyed, by status.",
      "creating",
      "running",
      "pausing",
      "paused",
      "resuming",
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
  { $id: "Status", ...closed },
);
export type Status = Static<typeof Status>;

export const SizeInfo = Type.Object(
  {
    name: Type.String(),
    vcpus: Type.Integer(),
    memory_mib: Type.Integer(),
    cpu: OneOf(["shared", "performance"]),
  },
  { $id: "Size", ...closed },
);
export const SizeList = Type.Object({ items: Type.Array(SizeInfo) }, { $id: "SizeList", ...closed });
export type SizeList = Static<typeof SizeList>;

export const Template = Type.Object(
  {
    id: Type.String({ description: "The same description always has the same id." }),
    name: Type.String(),
    description: Type.String(),
    // Quotas are counted in it, and a host that has joined may say anything.
    disk_gib: Type.Integer({ minimum: 1, maximum: 1_024 }),
    status: OneOf(["ready", "building", "failed"]),
  },
  { $id: "Template", ...closed },
);
export type Template = Static<typeof Template>;
export const TemplateList = Type.Object({ items: Type.Array(Template) }, { $id: "TemplateList", ...closed });
export type TemplateList = Static<typeof TemplateList>;
