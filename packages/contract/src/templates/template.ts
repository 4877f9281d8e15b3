import { Type, type Static } from "typebox";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { WaitsFor } from "../waits-for.ts";
import {
  TEMPLATE_FAILURE_MAX_CHARS,
  TEMPLATE_FAILURE_MAX_LINES,
  TEMPLATE_REFERENCE_MAX_CHARS,
} from "../bounds.ts";
import { PulledImage } from "./pulled-image.ts";
import { exampleOf, named } from "../named.ts";

/** An attempt of a host to make the image of a built-in template, which came to nothing. */
export const TemplateFailure = Type.Object(
  {
    reason: Type.String({ maxLength: TEMPLATE_FAILURE_MAX_CHARS }),
    last_lines: Type.Array(Type.String({ maxLength: TEMPLATE_FAILURE_MAX_CHARS }), {
      maxItems: TEMPLATE_FAILURE_MAX_LINES,
      description: "The last lines that its making printed.",
    }),
    failed_at: Timestamp,
    next_attempt: Nullable({
      ...Timestamp,
      description: "When its host tries again by itself; null: it is trying.",
    }),
  },
  { additionalProperties: false },
);
export type TemplateFailure = Static<typeof TemplateFailure>;

const making = {
  failure: Nullable(TemplateFailure, {
    description: "The last attempt at its image, where that failed and none has succeeded since.",
  }),
  building_since: Nullable({
    ...Timestamp,
    description: "When the making of its image began; null: it is not being made, or waits for its turn.",
  }),
  progress: Nullable(
    Type.String({ maxLength: 200, description: "How far the making of its image is, in words." }),
  ),
};

/** As a host has it: only what is built in. */
export const BuiltInTemplate = named(
  "BuiltInTemplate",
  {
    id: Type.String({ description: "The same description always has the same id." }),
    name: Type.String(),
    description: Type.String(),
    // Quotas are counted in it, and a host that has joined may say anything.
    disk_gib: Type.Integer({ minimum: 1, maximum: 1_024 }),
    status: OneOf(["ready", "on_demand", "building", "failed"], {
      description: "`on_demand`: it is built when a VM of it is first asked for.",
    }),
    // Absent from hosts of versions before them.
    failure: Type.Optional(making.failure),
    building_since: Type.Optional(making.building_since),
    progress: Type.Optional(making.progress),
  },
  {
    id: "tpl_01kb3wz0a1b2c3d4e5f6g7h8jk",
    name: "base",
    description: "Debian with Python 3 and common tools",
    disk_gib: 8,
    status: "ready",
  },
);
export type BuiltInTemplate = Static<typeof BuiltInTemplate>;

const ofOwn = "Null of what is built in.";

export const Template = named(
  "Template",
  {
    ...BuiltInTemplate.properties,
    ...making,
    waits_for: Nullable(WaitsFor, {
      description: "What holds up the making of its image; null: nothing does, or it is not asked for.",
    }),
    tags: Type.Array(Type.String(), {
      description: "What finds this version after its name and a colon; a name alone means `latest`.",
    }),
    digest: Nullable(
      Type.String({
        description: `Of its layers and what holds for it beside its files; \`NAME@DIGEST\` finds it, whatever its tags are. ${ofOwn}`,
      }),
    ),
    bytes: Nullable(Type.Integer({ description: `What its files take. ${ofOwn}` })),
    frozen_bytes: Nullable(
      Type.Integer({
        description: `What the memory of the sizes takes that sandboxes wake from. It counts as \`quota_template_gib\` with the files. ${ofOwn}`,
      }),
    ),
    user: Nullable(Type.String({ description: "Who commands run as; null for root." })),
    workdir: Nullable(Type.String({ description: "Where commands begin; null for the default." })),
    source: Nullable(PulledImage, {
      description: "The image that it was made of; null where it was made of none.",
    }),
    build_id: Nullable(Type.String({ description: `The build that made it. ${ofOwn}` })),
    created_at: Nullable(Type.String({ format: "date-time", description: ofOwn })),
  },
  {
    ...exampleOf(BuiltInTemplate),
    failure: null,
    building_since: null,
    progress: null,
    waits_for: null,
    tags: [],
    digest: null,
    bytes: null,
    frozen_bytes: null,
    user: null,
    workdir: null,
    source: null,
    build_id: null,
    created_at: null,
  },
);
export type Template = Static<typeof Template>;
export const TemplateList = named(
  "TemplateList",
  { items: Type.Array(Template) },
  { items: [exampleOf(Template)] },
);
export type TemplateList = Static<typeof TemplateList>;

export const TemplateTagRequest = named(
  "TemplateTagRequest",
  {
    template: Type.String({
      maxLength: TEMPLATE_REFERENCE_MAX_CHARS,
      description: "The version that the tag is to mean: its id, or `NAME:TAG`.",
    }),
  },
  { template: "web:42" },
);
export type TemplateTagRequest = Static<typeof TemplateTagRequest>;
