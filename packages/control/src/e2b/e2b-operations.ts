// The paths of E2B's API and of what its clients call in a sandbox. Each is served by what a native operation does, so it has that one's scope, role,
// rate class and audit action. Their document is E2B's, so ours leaves them out.

import type { FastifyRequest } from "fastify";
import { isId } from "@skerry/contract/ids";
import { Type } from "typebox";
import type { Context } from "../context.ts";
import type { GuardedOperation, Operation } from "../api/operation.ts";
import { buildOperations } from "../builds/build-operations.ts";
import { organizationOperations } from "../organizations/organization-operations.ts";
import { tokenOperations } from "../organizations/token-operations.ts";
import { usageOperations } from "../usage/usage-operations.ts";
import { templateOperations } from "../templates/template-operations.ts";
import { healthOperations } from "../platform/health-operations.ts";
import { snapshotOperations } from "../snapshots/snapshot-operations.ts";
import { sandboxSnapshotOperations } from "../sandboxes/sandbox-snapshot-operations.ts";
import { sandboxOperations } from "../sandboxes/sandbox-operations.ts";
import { sandboxVms } from "../sandboxes/sandbox-vms.ts";
import { vmOperations } from "../vms/calls/vm-operations.ts";
import { sandboxIdIn } from "./sandbox-ids.ts";
import { apiCredentials, fileCredentials, sandboxCredentials, sandboxIdOf } from "./credentials.ts";
import { uploadRightOf } from "./upload-right.ts";

/** What comes as it is, whose shape E2B's own document tells. */
const answer = { description: "As E2B's clients expect it.", content: { "*/*": { schema: Type.Unknown() } } };

/** The prefix of what is called in a sandbox; `E2B_SANDBOX_URL` leads there. */
const SANDBOX_PREFIX = "/e2b/sandbox";

/** What follows the prefix, from its slash on; undefined for another path. Signed URLs of files have none: the clients make them so. */
export function pathInSandbox(url: string): string | undefined {
  const [, path, signed] = /^(?:\/e2b\/sandbox(\/[^?]*)|(\/files)(?=\?|$))/.exec(url) ?? [];
  return path ?? signed;
}

type Method = GuardedOperation["method"];

function translated(
  like: GuardedOperation,
  method: Method,
  path: GuardedOperation["path"],
): GuardedOperation {
  const { tag, summary, access, audit } = like;
  const { scope, orScope, role, rate } = access;
  const isInSandbox = pathInSandbox(path) !== undefined;
  const credentials = isInSandbox ? sandboxCredentials : apiCredentials;
  // What was asked for, such as a command, is in other places of these requests.
  const { action, resource } = audit;
  return {
    ...{ surface: "e2b", method, path, tag, summary, answers: { 200: answer }, errors: [] },
    access: { scope, role, rate, ...(orScope !== undefined && { orScope }), credentials },
    // The paths in a sandbox do not name it, and others not as we do.
    audit: { action, resource, idOfRequest: isInSandbox ? sandboxIdOf : sandboxIdInPath },
  };
}

function sandboxIdInPath({ params }: FastifyRequest): string | undefined {
  const id = sandboxIdIn((params as { readonly id?: string }).id ?? "");
  return isId("sandbox", id) ? id : undefined;
}

const api = (like: GuardedOperation, method: Method, path: string) => translated(like, method, `/e2b${path}`);

const { createSandbox, listSandboxes, getSandbox, destroySandbox, keepSandboxAlive } = sandboxOperations;
const { pauseSandbox, resumeSandbox } = sandboxOperations;
/** Calls into a sandbox. */
const inside = vmOperations(sandboxVms);
const { createSnapshot, forkSandbox } = sandboxSnapshotOperations;
const { listSnapshots, deleteSnapshot } = snapshotOperations;
const { listTemplates, getTemplate, deleteTemplate, tagTemplate, untagTemplate } = templateOperations;
const { createToken, listTokens, revokeToken } = tokenOperations;
const { getOrganization } = organizationOperations;
const { getUsage } = usageOperations;
const { createTemplate, uploadBuildContext, getBuild, getBuildLog } = buildOperations;

export const e2bOperations = {
  create: api(createSandbox, "POST", "/sandboxes"),
  createV2: api(createSandbox, "POST", "/v2/sandboxes"),
  list: api(listSandboxes, "GET", "/sandboxes"),
  listV2: api(listSandboxes, "GET", "/v2/sandboxes"),
  get: api(getSandbox, "GET", "/sandboxes/:id"),
  kill: api(destroySandbox, "DELETE", "/sandboxes/:id"),
  setTimeout: api(keepSandboxAlive, "POST", "/sandboxes/:id/timeout"),
  refresh: api(keepSandboxAlive, "POST", "/sandboxes/:id/refreshes"),
  connect: api(resumeSandbox, "POST", "/sandboxes/:id/connect"),
  connectV2: api(resumeSandbox, "POST", "/v2/sandboxes/:id/connect"),
  pause: api(pauseSandbox, "POST", "/sandboxes/:id/pause"),
  resume: api(resumeSandbox, "POST", "/sandboxes/:id/resume"),
  setNetwork: api(inside.setEgress, "PUT", "/sandboxes/:id/network"),
  listMetrics: api(inside.getMetrics, "GET", "/sandboxes/metrics"),
  metrics: api(inside.getMetrics, "GET", "/sandboxes/:id/metrics"),
  logs: api(inside.listEvents, "GET", "/sandboxes/:id/logs"),
  logsV2: api(inside.listEvents, "GET", "/v2/sandboxes/:id/logs"),
  createSnapshot: api(createSnapshot, "POST", "/sandboxes/:id/snapshots"),
  fork: api(forkSandbox, "POST", "/sandboxes/:id/fork"),
  forkV2: api(forkSandbox, "POST", "/v2/sandboxes/:id/fork"),
  listSnapshots: api(listSnapshots, "GET", "/snapshots"),
  // To the clients a snapshot is a template.
  deleteSnapshot: api(deleteSnapshot, "DELETE", "/templates/:snapshot(^snp_[0-9a-z]{26}$)"),
  deleteTemplate: api(deleteTemplate, "DELETE", "/templates/:template"),
  createTemplateBuild: api(createTemplate, "POST", "/v3/templates"),
  uploadFilesLink: api(uploadBuildContext, "GET", "/templates/:template/files/:hash"),
  startTemplateBuild: api(createTemplate, "POST", "/v2/templates/:template/builds/:build"),
  templateBuildStatus: api(getBuild, "GET", "/templates/:template/builds/:build/status"),
  templateBuildLogs: api(getBuildLog, "GET", "/templates/:template/builds/:build/logs"),
  listTemplates: api(listTemplates, "GET", "/templates"),
  listTemplatesV2: api(listTemplates, "GET", "/v2/templates"),
  templateDetail: api(getTemplate, "GET", "/templates/:template"),
  updateTemplate: api(tagTemplate, "PATCH", "/templates/:template"),
  updateTemplateV2: api(tagTemplate, "PATCH", "/v2/templates/:template"),
  findAlias: api(getTemplate, "GET", "/templates/aliases/:alias"),
  assignTags: api(tagTemplate, "POST", "/templates/tags"),
  removeTags: api(untagTemplate, "DELETE", "/templates/tags"),
  listApiKeys: api(listTokens, "GET", "/api-keys"),
  createApiKey: api(createToken, "POST", "/api-keys"),
  deleteApiKey: api(revokeToken, "DELETE", "/api-keys/:key"),
  listTeams: api(getOrganization, "GET", "/teams"),
  teamMetrics: api(getUsage, "GET", "/teams/:team/metrics"),
  teamMetricsMax: api(getUsage, "GET", "/teams/:team/metrics/max"),
  listTags: api(getTemplate, "GET", "/templates/:template/tags"),
} as const satisfies Readonly<Record<string, GuardedOperation>>;

/** Whether this server answers, for programs that have no token yet. */
export const apiHealth: Operation = {
  ...healthOperations.getHealth,
  ...{ surface: "e2b", path: "/e2b/health", answers: { 204: answer } },
};

const rpc = (like: GuardedOperation, method: string) =>
  translated(like, "POST", `${SANDBOX_PREFIX}/${method}`);

/** The protocol sends these with POST too, and clients ask them again and again. */
const readingRpc = (like: GuardedOperation, method: string): GuardedOperation => {
  const operation = rpc(like, method);
  return { ...operation, audit: { ...operation.audit, isRead: true } };
};

/** Of the Connect protocol: each is one method of a service. */
export const rpcOperations = [
  rpc(inside.createExecution, "process.Process/Start"),
  rpc(inside.streamExecution, "process.Process/Connect"),
  readingRpc(inside.listExecutions, "process.Process/List"),
  rpc(inside.sendExecutionStdin, "process.Process/Update"),
  rpc(inside.sendExecutionStdin, "process.Process/StreamInput"),
  rpc(inside.sendExecutionStdin, "process.Process/SendInput"),
  rpc(inside.sendExecutionStdin, "process.Process/CloseStdin"),
  rpc(inside.killExecution, "process.Process/SendSignal"),
  readingRpc(inside.statFile, "filesystem.Filesystem/Stat"),
  rpc(inside.makeDirectory, "filesystem.Filesystem/MakeDir"),
  rpc(inside.changeFile, "filesystem.Filesystem/Move"),
  readingRpc(inside.downloadFile, "filesystem.Filesystem/ListDir"),
  rpc(inside.removeFile, "filesystem.Filesystem/Remove"),
  rpc(inside.watchDirectory, "filesystem.Filesystem/WatchDir"),
  rpc(inside.watchDirectory, "filesystem.Filesystem/CreateWatcher"),
  readingRpc(inside.watchDirectory, "filesystem.Filesystem/GetWatcherEvents"),
  rpc(inside.watchDirectory, "filesystem.Filesystem/RemoveWatcher"),
];

/** Where the URL may be signed in the place of a token. */
const signable = (
  like: GuardedOperation,
  method: Method,
  path: GuardedOperation["path"],
): GuardedOperation => {
  const operation = translated(like, method, path);
  return { ...operation, access: { ...operation.access, credentials: fileCredentials } };
};

/** Of archives for builds: the URL carries the right to send one. */
export const archiveOperations = {
  uploadArchive: {
    ...api(uploadBuildContext, "PUT", "/archives/:hash"),
    access: {
      ...api(uploadBuildContext, "PUT", "/archives/:hash").access,
      credentials: async (context: Context, request: FastifyRequest) =>
        (await uploadRightOf(context, request)).credentials,
    },
  },
} as const satisfies Readonly<Record<string, GuardedOperation>>;

/** Of plain HTTP. */
export const sandboxCallOperations = {
  health: translated(getSandbox, "GET", `${SANDBOX_PREFIX}/health`),
  measure: translated(inside.getMetrics, "GET", `${SANDBOX_PREFIX}/metrics`),
  envs: translated(getSandbox, "GET", `${SANDBOX_PREFIX}/envs`),
  download: signable(inside.downloadFile, "GET", `${SANDBOX_PREFIX}/files`),
  upload: signable(inside.uploadFile, "POST", `${SANDBOX_PREFIX}/files`),
  downloadSigned: signable(inside.downloadFile, "GET", "/files"),
  uploadSigned: signable(inside.uploadFile, "POST", "/files"),
  compose: translated(inside.uploadFile, "POST", `${SANDBOX_PREFIX}/files/compose`),
} as const satisfies Readonly<Record<string, GuardedOperation>>;
