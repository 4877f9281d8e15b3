// What the platform says of itself: health, sizes and templates.

import { Type, type Static } from "typebox";

const closed = { additionalProperties: false } as const;

export const Health = Type.Object({ status: Type.Literal("healthy") }, { $id: "Health", ...closed });
export type Health = Static<typeof Health>;

export const SizeInfo = Type.Object(
  {
    name: Type.String(),
    vcpus: Type.Integer(),
    memory_mib: Type.Integer(),
    cpu: Type.Union([Type.Literal("shared"), Type.Literal("performance")]),
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
    disk_gib: Type.Integer(),
    status: Type.Union([Type.Literal("ready"), Type.Literal("building"), Type.Literal("failed")]),
  },
  { $id: "Template", ...closed },
);
export type Template = Static<typeof Template>;
export const TemplateList = Type.Object({ items: Type.Array(Template) }, { $id: "TemplateList", ...closed });
export type TemplateList = Static<typeof TemplateList>;
