import { Type } from "typebox";
import { Build, BuildEgress, BuildList, BuildListQuery } from "@skerry/contract/builds/build";
import { BuildRequest } from "@skerry/contract/builds/build-request";
import { BuildLog, BuildLogLine, BuildLogQuery } from "@skerry/contract/builds/build-log";
import { TemplatePushRequest } from "@skerry/contract/builds/template-push";
import { BUILD_SECRET_NAME } from "@skerry/contract/builds/context-bounds";
import { NoFields } from "@skerry/contract/named";
import type { Access, LargeBody, Operations } from "../api/operation.ts";
import { egressErrors, secretsErrors } from "../vms/vm-errors.ts";

/** Less than other calls take: each of the builds that an organization has keeps what it was asked for. */
export const largeBuild: LargeBody = {
  maxBytes: 256 * 1024,
  otherwise: "Put what is long, such as a script or a list of packages, into a file that a step copies.",
};

const read = { scope: "templates:read", role: "viewer", rate: "read" } as const satisfies Access;
const write = { scope: "templates:write", role: "member", rate: "write" } as const satisfies Access;
const params = Type.Object({ id: Type.String() });

const startErrors = [
  ...egressErrors,
  "host_unavailable",
  "invalid_build",
  "invalid_duration",
  "host_draining",
  "no_capacity",
  "quota_exceeded",
  "size_too_large",
  "template_lost",
  "template_not_ready",
  "timeout_too_long",
  "unknown_size",
  "unknown_template",
] as const;

export const creationErrors = [
  ...startErrors,
  ...secretsErrors,
  "name_taken",
  "secret_not_found",
  "snapshot_has_secrets",
  "unknown_snapshot",
] as const;

/** What makes templates of an organization. */
export const buildOperations = {
  createTemplate: {
    surface: "v1",
    method: "POST",
    path: "/v1/templates",
    client: "by hand",
    tag: "templates",
    summary: "Build a template",
    description:
      "In a microVM of its own. The answer is the build, which goes on after it: `GET /v1/builds/{id}` says how far it is, and the template is there when that is `ready`.",
    body: BuildRequest,
    largeBody: largeBuild,
    answers: { 201: Build },
    access: { scope: "templates:write", role: "member", rate: "expensive" },
    audit: { action: "build.create", resource: "build" },
    errors: creationErrors,
  },
  pushTemplate: {
    surface: "v1",
    method: "POST",
    path: "/v1/templates/:template/push",
    client: "by hand",
    tag: "templates",
    summary: "Push a template to a registry",
    description:
      "A version of the organization's own, by name, `NAME:TAG` or id, as an OCI image of one layer, with the credentials that the organization has for the registry. The answer is a build, which ends `ready` once the registry has the image, and makes no template.",
    params: Type.Object({ template: Type.String() }),
    body: TemplatePushRequest,
    answers: { 201: Build },
    access: { scope: "templates:write", role: "member", rate: "expensive" },
    audit: { action: "template.push", resource: "build" },
    errors: [...startErrors, "template_not_found"],
  },
  listBuilds: {
    surface: "v1",
    method: "GET",
    path: "/v1/builds",
    tag: "templates",
    summary: "List builds",
    description:
      "Newest first. Those that ended 30 days ago are forgotten, and before that those beyond the last 2,000 that ended.",
    query: BuildListQuery,
    answers: { 200: BuildList },
    access: read,
    audit: { action: "build.list", resource: "build" },
    errors: [],
  },
  getBuild: {
    surface: "v1",
    method: "GET",
    path: "/v1/builds/:id",
    tag: "templates",
    summary: "Get a build",
    params,
    answers: { 200: Build },
    access: read,
    audit: { action: "build.get", resource: "build" },
    errors: ["build_not_found"],
  },
  uploadBuildContext: {
    surface: "v1",
    method: "PUT",
    path: "/v1/builds/:id/context",
    tag: "templates",
    summary: "Send the context of a build",
    description:
      "A tar archive, at most 2 GiB, which is unpacked in the microVM of the build and nowhere else. The build waits ten minutes for it.",
    params,
    body: "bytes",
    answers: { 200: Build },
    access: write,
    audit: { action: "build.context", resource: "build" },
    errors: [
      "archive_refused",
      "build_canceled",
      "build_needs_no_context",
      "build_not_found",
      "build_over",
      "context_missing",
      "context_too_large",
      "disk_full",
      "guest_failed",
      "guest_timeout",
      "host_unavailable",
      "too_many_streams",
    ],
  },
  uploadBuildSecret: {
    surface: "v1",
    method: "PUT",
    path: "/v1/builds/:id/secrets/:name",
    tag: "templates",
    summary: "Give a build a secret",
    description:
      "At most 64 KiB, for `RUN --mount=type=secret,id=NAME` of its Dockerfile, while the build waits for its context. It is kept in the memory of the build's microVM alone, and cannot be read back.",
    params: Type.Object({ id: Type.String(), name: Type.String({ pattern: BUILD_SECRET_NAME }) }),
    body: "bytes",
    answers: { 204: Type.Null({ description: "The build has it." }) },
    access: write,
    audit: { action: "build.secret", resource: "build" },
    errors: [
      "build_canceled",
      "build_needs_no_context",
      "build_not_found",
      "build_over",
      "context_missing",
      "disk_full",
      "guest_failed",
      "guest_timeout",
      "host_unavailable",
      "payload_too_large",
      "too_many_streams",
    ],
  },
  getBuildEgress: {
    surface: "v1",
    method: "GET",
    path: "/v1/builds/:id/egress",
    client: "builds.egress",
    tag: "templates",
    summary: "Show the egress of a build",
    description: "Its rules, and the last destinations that were denied, also after its end.",
    params,
    answers: { 200: BuildEgress },
    access: read,
    audit: { action: "build.egress.get", resource: "build" },
    errors: ["build_not_found"],
  },
  getBuildLog: {
    surface: "v1",
    method: "GET",
    path: "/v1/builds/:id/logs",
    tag: "templates",
    summary: "Read the log of a build",
    description: "With `follow` each line is an event, until the build has ended; the last event is `end`.",
    params,
    query: BuildLogQuery,
    answers: { 200: BuildLog },
    events: [BuildLogLine],
    access: read,
    audit: { action: "build.logs", resource: "build" },
    errors: ["build_not_found", "secrets_unavailable", "too_many_streams"],
  },
  cancelBuild: {
    surface: "v1",
    method: "POST",
    path: "/v1/builds/:id/cancel",
    tag: "templates",
    summary: "Cancel a build",
    description: "At once, whatever it is doing. One that has ended stays as it is.",
    params,
    body: NoFields,
    isBodyOptional: true,
    answers: { 200: Build },
    access: write,
    audit: { action: "build.cancel", resource: "build" },
    errors: ["build_not_found"],
  },
  retryBuild: {
    surface: "v1",
    method: "POST",
    path: "/v1/builds/:id/retry",
    tag: "templates",
    summary: "Try a build again",
    description: "A new build of the same request. A context has to be sent again.",
    params,
    body: NoFields,
    isBodyOptional: true,
    answers: { 201: Build },
    access: { scope: "templates:write", role: "member", rate: "expensive" },
    audit: { action: "build.retry", resource: "build" },
    errors: ["build_not_found", "build_over", "template_not_found", ...creationErrors],
  },
} as const satisfies Operations;
