// What the platform says of itself: health, sizes and templates.

import { Type, type Static } from "typebox";
import { exampleOf, named, OneOf } from "./common.ts";

const closed = { additionalProperties: false } as const;

export const Health = named("Health", { status: Type.Literal("healthy") }, { status: "healthy" });
export type Health = Static<typeof Health>;

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
  {
    apps: 0,
    machines: 0,
    databases: 0,
    sandboxes: { creating: 0, running: 3, pausing: 0, paused: 0, resuming: 0, failed: 0, destroying: 0 },
    hosts: { online: 1, offline: 0, draining: 0, maintenance: 0 },
  },
);
export type Status = Static<typeof Status>;

export const SizeInfo = named(
  "Size",
  {
    name: Type.String(),
    vcpus: Type.Integer(),
    memory_mib: Type.Integer(),
    cpu: OneOf(["shared", "performance"]),
  },
  { name: "shared-cpu-1x", vcpus: 1, memory_mib: 256, cpu: "shared" },
);
export const SizeList = named("SizeList", { items: Type.Array(SizeInfo) }, { items: [exampleOf(SizeInfo)] });
export type SizeList = Static<typeof SizeList>;

export const Template = named(
  "Template",
  {
    id: Type.String({ description: "The same description always has the same id." }),
    name: Type.String(),
    description: Type.String(),
    // Quotas are counted in it, and a host that has joined may say anything.
    disk_gib: Type.Integer({ minimum: 1, maximum: 1_024 }),
    status: OneOf(["ready", "building", "failed"]),
  },
  {
    id: "tpl_01kb3wz0a1b2c3d4e5f6g7h8jk",
    name: "base",
    description: "Debian with Python 3 and common tools",
    disk_gib: 8,
    status: "ready",
  },
);
export type Template = Static<typeof Template>;
export const TemplateList = named(
  "TemplateList",
  { items: Type.Array(Template) },
  { items: [exampleOf(Template)] },
);
export type TemplateList = Static<typeof TemplateList>;
