import { Type } from "typebox";
import {
  KeepaliveRequest,
  Sandbox,
  SandboxCreateRequest,
  SandboxList,
  SandboxListQuery,
  SandboxUpdateRequest,
} from "@skerry/contract/sandboxes/sandbox";
import { NoFields } from "@skerry/contract/named";
import type { Operations } from "../api/operation.ts";
import { getEgressOperation, setEgressOperation } from "../vms/egress/egress-operations.ts";
import { listEventsOperation } from "../vms/events/event-operations.ts";
import { execOperation } from "../vms/exec/exec-operations.ts";
import { forwardPortOperation } from "../vms/forward/forward-operations.ts";
import { executeOperation } from "../vms/execute/execute-operations.ts";
import {
  createExecutionOperation,
  getExecutionOperation,
  killExecutionOperation,
  listExecutionsOperation,
  sendExecutionStdinOperation,
  streamExecutionOperation,
} from "../vms/executions/execution-operations.ts";
import {
  changeFileOperation,
  downloadFileOperation,
  makeDirectoryOperation,
  packDirectoryOperation,
  removeFileOperation,
  statFileOperation,
  unpackArchiveOperation,
  uploadFileOperation,
} from "../vms/files/file-operations.ts";
import { getVmMetricsOperation } from "../vms/metrics/metrics-operations.ts";
import { egressErrors, wakeErrors } from "../vms/vm-errors.ts";
import {
  listPortsOperation,
  requestPortOperation,
  setPortAccessOperation,
} from "../vms/ports/port-operations.ts";
import { signUrlOperation } from "../vms/signed-urls/url-operations.ts";
import { watchOperation } from "../vms/watches/watch-operations.ts";
import { vmPath } from "../vms/vm-path.ts";
import { sandboxVms } from "./sandbox-vms.ts";

const path = vmPath(sandboxVms);

export const sandboxOperations = {
  createSandbox: {
    surface: "v1",
    method: "POST",
    path: "/v1/sandboxes",
    tag: "sandboxes",
    summary: "Create a sandbox",
    description:
      "The sandbox is usable when the answer comes. From a snapshot with an `env` of its own it needs the scope `sandboxes:execute` as well.",
    body: SandboxCreateRequest,
    timing: ["place", "freeze", "start"],
    answers: { 201: Sandbox },
    access: { scope: "sandboxes:write", role: "member", rate: "expensive" },
    audit: { action: "sandbox.create", resource: "sandbox" },
    errors: [
      ...egressErrors,
      "invalid_duration",
      "invalid_env",
      "unknown_template",
      "unknown_snapshot",
      "snapshot_not_found",
      "snapshot_damaged",
      "snapshot_incompatible",
      "unknown_size",
      "size_too_large",
      "timeout_too_long",
      "name_taken",
      "quota_exceeded",
      "no_capacity",
      "template_lost",
      "template_not_ready",
      "host_unavailable",
      "guest_failed",
      "guest_timeout",
      "disk_full",
      "sandbox_not_running",
    ],
  },
  listSandboxes: {
    surface: "v1",
    method: "GET",
    path: "/v1/sandboxes",
    tag: "sandboxes",
    summary: "List sandboxes",
    description:
      "The sandboxes of the organization, newest first. `metadata.KEY=VALUE` in the query filters by a label.",
    query: SandboxListQuery,
    answers: { 200: SandboxList },
    access: { scope: "sandboxes:read", role: "viewer", rate: "read" },
    audit: { action: "sandbox.list", resource: "sandbox" },
    errors: [],
  },
  getSandbox: {
    surface: "v1",
    method: "GET",
    path: "/v1/sandboxes/:id",
    tag: "sandboxes",
    summary: "Get a sandbox",
    ...path,
    answers: { 200: Sandbox },
    access: { scope: "sandboxes:read", role: "viewer", rate: "read" },
    audit: { action: "sandbox.get", resource: "sandbox" },
    errors: ["sandbox_not_found"],
  },
  updateSandbox: {
    surface: "v1",
    method: "PATCH",
    path: "/v1/sandboxes/:id",
    tag: "sandboxes",
    summary: "Change a sandbox",
    description:
      "What is left out stays as it is. The change is in effect when the answer comes; a paused sandbox stays paused. Its expiry is moved by `keepalive`, and its egress rules have a call of their own.",
    ...path,
    body: SandboxUpdateRequest,
    answers: { 200: Sandbox },
    access: { scope: "sandboxes:write", role: "member", rate: "write" },
    audit: { action: "sandbox.update", resource: "sandbox" },
    errors: [
      "sandbox_not_found",
      "sandbox_not_running",
      "sandbox_expired",
      "invalid_duration",
      "name_taken",
      "timeout_too_long",
    ],
  },
  destroySandbox: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/sandboxes/:id",
    tag: "sandboxes",
    summary: "Destroy a sandbox",
    description: "Works from every status. A second time does nothing.",
    ...path,
    answers: { 204: Type.Null({ description: "It is destroyed." }) },
    access: { scope: "sandboxes:write", role: "member", rate: "write" },
    audit: { action: "sandbox.destroy", resource: "sandbox" },
    errors: ["sandbox_not_found"],
  },
  keepSandboxAlive: {
    surface: "v1",
    method: "POST",
    path: "/v1/sandboxes/:id/keepalive",
    tag: "sandboxes",
    summary: "Keep a sandbox alive",
    description:
      "Moves the expiry of a sandbox to a later time, never to an earlier one. The answer has the new `expires_at`; more than 24h from now is clamped to 24h.",
    ...path,
    body: KeepaliveRequest,
    isBodyOptional: true,
    answers: { 200: Sandbox },
    access: { scope: "sandboxes:write", role: "member", rate: "write" },
    audit: { action: "sandbox.keepalive", resource: "sandbox" },
    errors: ["sandbox_not_found", "sandbox_not_running", "sandbox_expired", "invalid_duration"],
  },
  pauseSandbox: {
    surface: "v1",
    method: "POST",
    path: "/v1/sandboxes/:id/pause",
    tag: "sandboxes",
    summary: "Pause a sandbox",
    description:
      "Its memory and its disk become files, and it holds no memory, no CPU and no network. Only of a persistent one. What runs in it goes on " +
      "when it is resumed; connections do not outlive a pause. One that is paused is left as it is.",
    ...path,
    body: NoFields,
    isBodyOptional: true,
    answers: { 200: Sandbox },
    access: { scope: "sandboxes:write", role: "member", rate: "write" },
    audit: { action: "sandbox.pause", resource: "sandbox" },
    errors: [
      "sandbox_not_found",
      "sandbox_not_running",
      "sandbox_expired",
      "sandbox_not_persistent",
      "not_snapshotable",
      "disk_full",
      "vm_moving",
      "host_unavailable",
      "guest_failed",
      "guest_timeout",
    ],
  },
  resumeSandbox: {
    surface: "v1",
    method: "POST",
    path: "/v1/sandboxes/:id/resume",
    tag: "sandboxes",
    summary: "Resume a sandbox",
    description:
      "It goes on where it was paused, and its timeout begins anew. Calls into a paused sandbox do this by themselves. " +
      "One that runs is left as it is; without room for it the answer is `no_capacity`, and it stays paused.",
    ...path,
    body: NoFields,
    isBodyOptional: true,
    answers: { 200: Sandbox },
    access: { scope: "sandboxes:write", role: "member", rate: "expensive" },
    audit: { action: "sandbox.resume", resource: "sandbox" },
    errors: [
      "sandbox_not_found",
      "sandbox_not_running",
      "sandbox_expired",
      "guest_failed",
      "guest_timeout",
      ...wakeErrors,
    ],
  },
} as const satisfies Operations;

/** What reaches into its microVM. */
export const sandboxVmOperations = {
  execute: executeOperation(sandboxVms),
  execInSandbox: execOperation(sandboxVms),
  forwardSandboxPort: forwardPortOperation(sandboxVms),
  createSandboxExecution: createExecutionOperation(sandboxVms),
  listSandboxExecutions: listExecutionsOperation(sandboxVms),
  getSandboxExecution: getExecutionOperation(sandboxVms),
  streamSandboxExecution: streamExecutionOperation(sandboxVms),
  sendSandboxExecutionStdin: sendExecutionStdinOperation(sandboxVms),
  killSandboxExecution: killExecutionOperation(sandboxVms),
  uploadFile: uploadFileOperation(sandboxVms),
  downloadFile: downloadFileOperation(sandboxVms),
  changeFile: changeFileOperation(sandboxVms),
  removeFile: removeFileOperation(sandboxVms),
  statFile: statFileOperation(sandboxVms),
  makeDirectory: makeDirectoryOperation(sandboxVms),
  watchDirectory: watchOperation(sandboxVms),
  downloadDirectory: packDirectoryOperation(sandboxVms),
  uploadDirectory: unpackArchiveOperation(sandboxVms),
  getSandboxEgress: getEgressOperation(sandboxVms),
  setSandboxEgress: setEgressOperation(sandboxVms),
  listSandboxEvents: listEventsOperation(sandboxVms),
  getSandboxMetrics: getVmMetricsOperation(sandboxVms),
  listSandboxPorts: listPortsOperation(sandboxVms),
  setSandboxPortAccess: setPortAccessOperation(sandboxVms),
  requestSandboxPort: requestPortOperation(sandboxVms),
  signSandboxUrl: signUrlOperation(sandboxVms),
} as const satisfies Operations;
