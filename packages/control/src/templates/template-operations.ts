import { Type } from "typebox";
import { SizeList } from "@skerry/contract/platform/size-list";
import { Template, TemplateList } from "@skerry/contract/templates/template";
import type { Access, Operations } from "../api/operation.ts";

const read = { scope: "templates:read", role: "viewer", rate: "read" } as const satisfies Access;

/** What a sandbox can be made of: templates and sizes. */
export const templateOperations = {
  listSizes: {
    surface: "v1",
    method: "GET",
    path: "/v1/sizes",
    tag: "templates",
    summary: "List sizes",
    description: "The sizes that a microVM can have.",
    answers: { 200: SizeList },
    access: read,
    audit: { action: "size.list", resource: "size" },
    errors: [],
  },
  listTemplates: {
    surface: "v1",
    method: "GET",
    path: "/v1/templates",
    tag: "templates",
    summary: "List templates",
    description: "The templates that sandboxes are cloned from.",
    answers: { 200: TemplateList },
    access: read,
    audit: { action: "template.list", resource: "template" },
    errors: [],
  },
  getTemplate: {
    surface: "v1",
    method: "GET",
    path: "/v1/templates/:template",
    tag: "templates",
    summary: "Get a template",
    description: "By name or id.",
    params: Type.Object({ template: Type.String() }),
    answers: { 200: Template },
    access: read,
    audit: { action: "template.get", resource: "template" },
    errors: ["template_not_found"],
  },
} as const satisfies Operations;
