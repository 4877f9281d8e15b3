// A build as `/v1` shows it.

import { Type, type Static } from "typebox";
import { errorStatus, type ErrorCode } from "../errors.ts";
import { exampleIds } from "../example-ids.ts";
import { Nullable, OneOf, Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";
import { pageOf, PageQuery } from "../page.ts";
import { Egress, EgressDenial } from "../vms/egress.ts";
import { PulledImage } from "../templates/pulled-image.ts";
import { buildStatuses } from "./build-status.ts";
import { BuildStep } from "./build-step.ts";
import { WaitsFor } from "../waits-for.ts";
import { TemplatePush } from "./template-push.ts";

const closed = { additionalProperties: false } as const;

/** `error` of a build, as `/v1` answers errors elsewhere. */
const BuildError = Type.Unsafe<{
  code: ErrorCode;
  message: string;
  step: number | null;
  exit_code: number | null;
  last_lines: string[];
} | null>({
  type: ["object", "null"],
  additionalProperties: false,
  required: ["code", "message", "step", "exit_code", "last_lines"],
  description: "Why it failed, or why it was canceled where no request asked for that.",
  properties: {
    code: { type: "string", enum: Object.keys(errorStatus) },
    message: { type: "string" },
    step: { type: ["integer", "null"], description: "Its place in `steps`, from 0." },
    exit_code: { type: ["integer", "null"] },
    last_lines: { type: "array", items: { type: "string" } },
  },
});

export const Build = named(
  "Build",
  {
    id: Type.String(),
    name: Type.String(),
    tag: Type.String(),
    status: OneOf(buildStatuses),
    waits_for_context: Type.Boolean(),
    waits_for: Nullable(WaitsFor, { description: "What keeps it from its next step; null: nothing does." }),
    steps: Type.Array(BuildStep, { description: "Empty until they are known." }),
    commit: Nullable(Type.String({ description: "Id of the commit that was cloned." })),
    error: BuildError,
    source: Nullable(PulledImage, {
      description: "What it is made of; null where that is no image, or not pulled yet.",
    }),
    pushed: Nullable(TemplatePush, {
      description: "What it pushes to a registry; null: it makes a template.",
    }),
    template_id: Nullable(Type.String({ description: "Of the version that it made, once it is ready." })),
    size: Type.String(),
    host_id: Type.String(),
    created_at: Timestamp,
    started_at: Nullable(Timestamp),
    finished_at: Nullable(Timestamp),
    ends_by: Nullable({
      ...Timestamp,
      description: "When its `timeout` is over, which begins with its first step; null before that.",
    }),
  },
  {
    id: exampleIds.build,
    name: "web",
    tag: "42",
    status: "building",
    waits_for_context: false,
    waits_for: null,
    steps: [
      {
        kind: "run",
        name: "RUN apt-get update && apt-get install -y nginx",
        status: "running",
        started_at: "2026-11-20T16:41:10.123Z",
        finished_at: null,
        exit_code: null,
        cache_hit: false,
        bytes: null,
      },
    ],
    commit: null,
    error: null,
    source: null,
    pushed: null,
    template_id: null,
    size: "shared-cpu-4x",
    host_id: exampleIds.host,
    created_at: "2026-11-20T16:41:08.123Z",
    started_at: "2026-11-20T16:41:09.423Z",
    finished_at: null,
    ends_by: "2026-11-20T17:11:08.123Z",
  },
);
export type Build = Static<typeof Build>;

/** What a build may reach, and what it was denied. */
export const BuildEgress = named(
  "BuildEgress",
  {
    ...Egress.properties,
    denied: Type.Array(EgressDenial, {
      description: "The last destinations that were denied, newest first.",
    }),
  },
  { ...exampleOf(Egress), denied: [exampleOf(EgressDenial)] },
);
export type BuildEgress = Static<typeof BuildEgress>;

export const BuildList = pageOf(Build, "BuildList");
export type BuildList = Static<typeof BuildList>;

export const BuildListQuery = Type.Object(
  {
    ...PageQuery.properties,
    status: Type.Optional(OneOf(buildStatuses, { description: "Only builds with this status." })),
    name: Type.Optional(Type.String({ maxLength: 63, description: "Only builds of this template." })),
  },
  closed,
);
export type BuildListQuery = Static<typeof BuildListQuery>;
