import { Type } from "typebox";
import { SizeList } from "@skerry/contract/platform/size-list";
import { Template, TemplateList, TemplateTagRequest } from "@skerry/contract/templates/template";
import {
  TAGS_MAX,
  TEMPLATE_NAME_PATTERN,
  TEMPLATE_TAG_MAX_CHARS,
  TEMPLATE_TAG_PATTERN,
} from "@skerry/contract/templates/template-name";
import type { Access, Operations } from "../api/operation.ts";

const read = { scope: "templates:read", role: "viewer", rate: "read" } as const satisfies Access;

const write = { scope: "templates:write", role: "member", rate: "write" } as const satisfies Access;

/** What a sandbox can be made of: templates and sizes. */
export const templateOperations = {
  listSizes: {
    surface: "v1",
    method: "GET",
    path: "/v1/sizes",
    client: "sizes.list",
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
    description:
      "What sandboxes and machines are made of: the built-in templates, and then the organization's own versions, newest first.",
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
    description: "By name, `NAME:TAG`, `NAME@DIGEST` or id. A name alone means the tag `latest`.",
    params: Type.Object({ template: Type.String() }),
    answers: { 200: Template },
    access: read,
    audit: { action: "template.get", resource: "template" },
    errors: ["template_not_found"],
  },
  prepareTemplate: {
    surface: "v1",
    method: "POST",
    path: "/v1/templates/:template/prepare",
    tag: "templates",
    summary: "Prepare a template",
    description:
      "Has every host that is online make the image of a built-in template now, also where it is made on demand or its last attempt failed. The template says how that goes.",
    params: Type.Object({ template: Type.String({ maxLength: 100, description: "Its name." }) }),
    answers: { 200: Template },
    access: { scope: "hosts:write", role: "admin", rate: "write" },
    audit: { action: "template.prepare", resource: "template" },
    errors: ["template_not_found", "host_unavailable", "host_draining"],
  },
  deleteTemplate: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/templates/:template",
    tag: "templates",
    summary: "Delete a template",
    description:
      "A version of the organization's own, with all its tags. Templates that were built on it stay; what was made of it has to be destroyed first.",
    params: Type.Object({ template: Type.String() }),
    answers: { 204: Type.Null({ description: "It is deleted." }) },
    access: write,
    audit: { action: "template.delete", resource: "template" },
    errors: ["template_not_found", "template_in_use"],
  },
  tagTemplate: {
    surface: "v1",
    method: "PUT",
    path: "/v1/templates/:name/tags/:tag",
    tag: "templates",
    summary: "Tag a template",
    description: `Has a tag of a name mean another version of that name. What runs already stays what it is. A version has at most ${TAGS_MAX} tags.`,
    params: Type.Object({
      name: Type.String({ maxLength: 63, pattern: TEMPLATE_NAME_PATTERN, description: "A name." }),
      tag: Type.String({ maxLength: TEMPLATE_TAG_MAX_CHARS, pattern: TEMPLATE_TAG_PATTERN }),
    }),
    body: TemplateTagRequest,
    answers: { 200: Template },
    access: write,
    audit: { action: "template.tag", resource: "template" },
    errors: ["template_not_found", "too_many_tags"],
  },
  untagTemplate: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/templates/:name/tags/:tag",
    tag: "templates",
    summary: "Remove a tag of a template",
    description: "The version that it meant stays, also where it has no tag any more: its id finds it.",
    params: Type.Object({
      name: Type.String({ maxLength: 63, pattern: TEMPLATE_NAME_PATTERN, description: "A name." }),
      tag: Type.String({ maxLength: 128, pattern: TEMPLATE_TAG_PATTERN }),
    }),
    answers: { 204: Type.Null({ description: "The tag means nothing any more." }) },
    access: write,
    audit: { action: "template.untag", resource: "template" },
    errors: ["template_not_found"],
  },
} as const satisfies Operations;
