import { Type, type Static } from "typebox";
import { OneOf } from "../fields.ts";
import { exampleOf, named } from "../named.ts";

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
