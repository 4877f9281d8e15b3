// Which errors a call can answer, as the OpenAPI document shows it. Most follow from what a call is; the rest is the table below. The
// tests hold every answer that they get against the document, so what is missing here fails there.

import { errorStatus, type ErrorCode } from "@skerry/contract/errors";
import type { Operation } from "../api/operations.ts";

type Json = { [key: string]: unknown };

const inVm: readonly ErrorCode[] = ["host_unavailable", "guest_failed", "guest_timeout"];
const inSandbox: readonly ErrorCode[] = ["sandbox_not_found", "sandbox_not_running", "sandbox_busy", ...inVm];
const inMachine: readonly ErrorCode[] = ["machine_not_found", "machine_not_running", "machine_busy", ...inVm];
const inFiles: readonly ErrorCode[] = [
  "invalid_path",
  "file_not_found",
  "path_is_directory",
  "path_not_directory",
  "path_not_file",
  "permission_denied",
];
const forUpload: readonly ErrorCode[] = ["payload_too_large", "upload_incomplete", "disk_full"];
const forCommand: readonly ErrorCode[] = [
  "invalid_duration",
  "invalid_env",
  "invalid_path",
  "timeout_too_long",
  "workdir_not_found",
  "permission_denied",
  "disk_full",
];
/** What a start can fail with. */
const ofDisk = ["disk_gone", "disk_unreadable"] as const;
const forStart: readonly ErrorCode[] = [
  ...inVm,
  "no_capacity",
  "quota_exceeded",
  "size_too_large",
  "unknown_template",
  "template_not_ready",
  "disk_full",
];
const forEgress: readonly ErrorCode[] = [
  "invalid_cidr",
  "invalid_port",
  "egress_conflict",
  "egress_forbidden",
];
const withJoinToken: readonly ErrorCode[] = [
  "unauthorized",
  "join_token_used",
  "rate_limited",
  "database_unavailable",
];

/** What only this call can answer. */
const own: { readonly [Name in Operation]?: readonly ErrorCode[] } = {
  addMember: ["user_not_found", "already_member", "quota_exceeded"],
  updateMember: ["member_not_found", "last_owner"],
  removeMember: ["member_not_found", "last_owner"],
  getTemplate: ["template_not_found"],
  getHost: ["host_not_found"],
  drainHost: ["host_not_found"],
  activateHost: ["host_not_found", "host_silent"],
  removeHost: ["host_not_found", "host_not_empty", "host_not_removable"],
  joinHost: [...withJoinToken, "host_name_taken"],
  confirmHost: [...withJoinToken, "host_not_found", "host_unreachable"],
  createToken: ["invalid_duration", "timeout_too_long", "quota_exceeded"],
  revokeToken: ["token_not_found"],
  createSandbox: [
    ...forEgress,
    "invalid_duration",
    "invalid_env",
    "unknown_template",
    "unknown_size",
    "size_too_large",
    "timeout_too_long",
    "mode_not_available",
    "quota_exceeded",
    "no_capacity",
    "template_not_ready",
    "host_unavailable",
    "guest_failed",
    "guest_timeout",
    "disk_full",
    "sandbox_not_running",
  ],
  getSandbox: ["sandbox_not_found"],
  destroySandbox: ["sandbox_not_found"],
  keepSandboxAlive: ["sandbox_not_found", "sandbox_not_running", "invalid_duration"],
  setSandboxEgress: [...inSandbox, ...forEgress],
  getSandboxEgress: [...inSandbox],
  execute: [...inSandbox, ...forCommand],
  uploadFile: [...inSandbox, ...inFiles, ...forUpload],
  downloadFile: [...inSandbox, ...inFiles],
  createMachine: [
    ...forStart,
    ...forEgress,
    "invalid_duration",
    "invalid_env",
    "unknown_size",
    "timeout_too_long",
    "machine_destroyed",
  ],
  getMachine: ["machine_not_found"],
  destroyMachine: ["machine_not_found"],
  startMachine: ["machine_not_found", "machine_destroyed", "machine_busy", ...ofDisk, ...forStart],
  stopMachine: ["machine_not_found", "machine_destroyed", "machine_busy"],
  restartMachine: ["machine_not_found", "machine_destroyed", "machine_busy", ...ofDisk, ...forStart],
  getMachineLogs: ["machine_not_found", "machine_destroyed", "host_unavailable"],
  setMachineEgress: [...inMachine, ...forEgress],
  getMachineEgress: [...inMachine],
  executeInMachine: [...inMachine, ...forCommand],
  uploadMachineFile: [...inMachine, ...inFiles, ...forUpload],
  downloadMachineFile: [...inMachine, ...inFiles],
};

/** Adds an answer for each status of an error, with the codes that it comes with. No route names them: each would cost a serializer at every
 *  start, and errors are sent as text. Answers that many calls share go into `shared`. */
export function documentErrors(operation: Json, shared: Json): void {
  const answers = { ...(operation["responses"] as Json) };
  const codes = codesOf(operation);
  const statuses = new Set(codes.map((code) => errorStatus[code]));
  for (const status of [...statuses].toSorted((a, b) => a - b)) {
    const [first, ...more] = codes.filter((code) => errorStatus[code] === status);
    if (first === undefined) continue;
    const answer = answerOf([first, ...more]);
    if (more.length > 0) answers[status] = answer;
    else {
      shared[first] = answer;
      answers[status] = { $ref: `#/components/responses/${first}` };
    }
  }
  operation["responses"] = answers;
}

function codesOf(operation: Json): ErrorCode[] {
  const isPublic = (operation["security"] as unknown[] | undefined)?.length === 0;
  const bodies = Object.keys(((operation["requestBody"] as Json | undefined)?.["content"] as Json) ?? {});
  const parameters = (operation["parameters"] ?? []) as Json[];
  const creates = Object.hasOwn(operation["responses"] as Json, "201");
  const codes: readonly (ErrorCode | false)[] = [
    ...everywhere,
    ...(isPublic ? [] : withToken),
    ...(bodies.includes("application/json") ? withJson : []),
    ...(creates ? withKey : []),
    parameters.some((parameter) => parameter["in"] === "query") && "unknown_field",
    parameters.some((parameter) => parameter["in"] === "path") && "invalid_path",
    ...(own[operation["operationId"] as Operation] ?? []),
  ];
  return [...new Set(codes.filter((code) => code !== false))];
}

const everywhere: readonly ErrorCode[] = [
  "bad_request",
  "unsupported_media_type",
  "headers_too_large",
  "internal",
  "shutting_down",
];
const withToken: readonly ErrorCode[] = [
  "unauthorized",
  "forbidden",
  "organization_not_found",
  "rate_limited",
  "database_unavailable",
];
const withJson: readonly ErrorCode[] = ["unknown_field", "request_timeout", "payload_too_large"];
const withKey: readonly ErrorCode[] = ["idempotency_conflict", "idempotency_in_progress"];

function answerOf(codes: readonly ErrorCode[]): Json {
  const names = codes.map((code) => `\`${code}\``).join(", ");
  const schema = {
    allOf: [{ $ref: "#/components/schemas/Error" }, { properties: { code: { enum: codes } } }],
  };
  return { description: `${names}.`, content: { "application/json": { schema } } };
}
