import { Type } from "typebox";
import { MachineEndList } from "@skerry/contract/machines/machine-end";
import { NoFields } from "@skerry/contract/named";
import { PageQuery } from "@skerry/contract/page";
import {
  Machine,
  MachineCreateRequest,
  MachineList,
  MachineListQuery,
  MachineStartRequest,
  MachineUpdateRequest,
} from "@skerry/contract/machines/machine";
import { MachineLogs, MachineLogsQuery } from "@skerry/contract/machines/machine-logs";
import type { Operations } from "../api/operation.ts";
import { egressErrors, startErrors } from "../vms/vm-errors.ts";
import { vmPath } from "../vms/vm-path.ts";
import { machineVms } from "./machines.ts";

const path = vmPath(machineVms);

const acted = ["machine_not_found", "machine_destroyed", "machine_busy", "owned"] as const;
const started = [...acted, "disk_gone", "disk_unreadable", ...startErrors] as const;

export const machineOperations = {
  createMachine: {
    surface: "v1",
    method: "POST",
    path: "/v1/machines",
    tag: "machines",
    summary: "Create a machine",
    description:
      "The machine runs when the answer comes. From a snapshot with an `env` or a `command` of its own it needs the scope `machines:execute` as well.",
    body: MachineCreateRequest,
    timing: ["place", "freeze", "start"],
    answers: { 201: Machine },
    access: { scope: "machines:write", role: "member", rate: "expensive" },
    audit: { action: "machine.create", resource: "machine" },
    errors: [
      ...startErrors,
      ...egressErrors,
      "invalid_duration",
      "secret_not_found",
      "name_taken",
      "unknown_size",
      "timeout_too_long",
      "machine_destroyed",
      "snapshot_damaged",
      "snapshot_incompatible",
      "snapshot_not_found",
      "unknown_snapshot",
    ],
  },
  listMachines: {
    surface: "v1",
    method: "GET",
    path: "/v1/machines",
    tag: "machines",
    summary: "List machines",
    description:
      "The machines of the organization, newest first. `metadata.KEY=VALUE` in the query filters by a label.",
    query: MachineListQuery,
    answers: { 200: MachineList },
    access: { scope: "machines:read", role: "viewer", rate: "read" },
    audit: { action: "machine.list", resource: "machine" },
    errors: [],
  },
  getMachine: {
    surface: "v1",
    method: "GET",
    path: "/v1/machines/:id",
    tag: "machines",
    summary: "Get a machine",
    ...path,
    answers: { 200: Machine },
    access: { scope: "machines:read", role: "viewer", rate: "read" },
    audit: { action: "machine.get", resource: "machine" },
    errors: ["machine_not_found"],
  },
  updateMachine: {
    surface: "v1",
    method: "PATCH",
    path: "/v1/machines/:id",
    tag: "machines",
    summary: "Change a machine",
    description:
      "What is left out stays as it is. `name`, `metadata`, `restart` and `stop_timeout` are changed at once. `env`, `command` and `size` are taken over by its next start, whatever starts it; until then the answer has them in `pending`. With `restart_now` the machine is restarted for that: 202 says that this goes on. Where it could not be started, the change stays, and `reason` says why it does not run. A larger `size` is refused where there is no room for it now on the machine's host or in the organization's limits; room is taken by the start. To change `env` or `command` the token needs the scope `machines:execute` as well.",
    ...path,
    body: MachineUpdateRequest,
    answers: { 200: Machine, 202: Machine },
    access: { scope: "machines:write", role: "member", rate: "expensive" },
    audit: { action: "machine.update", resource: "machine" },
    errors: [...started, "invalid_duration", "name_taken", "timeout_too_long", "unknown_size"],
  },
  destroyMachine: {
    surface: "v1",
    method: "DELETE",
    path: "/v1/machines/:id",
    tag: "machines",
    summary: "Destroy a machine",
    description: "Its disk goes with it. Works from every status. A second time does nothing.",
    ...path,
    answers: { 204: Type.Null({ description: "It is destroyed." }) },
    access: { scope: "machines:write", role: "member", rate: "write" },
    audit: { action: "machine.destroy", resource: "machine" },
    errors: ["machine_not_found", "owned"],
  },
} as const satisfies Operations;

/** Whether it runs. 202: another request is at work on it, or its host is away; what was asked for is stored and will be carried out. */
export const machinePowerOperations = {
  startMachine: {
    surface: "v1",
    method: "POST",
    path: "/v1/machines/:id/start",
    tag: "machines",
    summary: "Start a machine",
    description: "From its own disk. One that runs is left as it is.",
    ...path,
    body: MachineStartRequest,
    isBodyOptional: true,
    answers: { 200: Machine, 202: Machine },
    access: { scope: "machines:write", role: "member", rate: "expensive" },
    audit: { action: "machine.start", resource: "machine" },
    errors: started,
  },
  stopMachine: {
    surface: "v1",
    method: "POST",
    path: "/v1/machines/:id/stop",
    tag: "machines",
    summary: "Stop a machine",
    description:
      "SIGTERM to its main process, and SIGKILL after its `stop_timeout`. Its disk is kept, and nothing starts it again.",
    ...path,
    body: NoFields,
    isBodyOptional: true,
    answers: { 200: Machine, 202: Machine },
    access: { scope: "machines:write", role: "member", rate: "write" },
    audit: { action: "machine.stop", resource: "machine" },
    errors: acted,
  },
  listMachineRestarts: {
    surface: "v1",
    method: "GET",
    path: "/v1/machines/:id/restarts",
    tag: "machines",
    summary: "List the restarts of a machine",
    description:
      "Each time that it ended without being asked to, why, and when it ran again, newest first. The last 100 are kept, for 90 days.",
    ...path,
    query: PageQuery,
    answers: { 200: MachineEndList },
    access: { scope: "machines:read", role: "viewer", rate: "read" },
    audit: { action: "machine.restart.list", resource: "machine" },
    errors: ["machine_not_found"],
  },
  restartMachine: {
    surface: "v1",
    method: "POST",
    path: "/v1/machines/:id/restart",
    tag: "machines",
    summary: "Restart a machine",
    description: "Stops the machine and starts it again. One that does not run is started.",
    ...path,
    body: NoFields,
    isBodyOptional: true,
    answers: { 200: Machine, 202: Machine },
    access: { scope: "machines:write", role: "member", rate: "expensive" },
    audit: { action: "machine.restart", resource: "machine" },
    errors: started,
  },
} as const satisfies Operations;

export const machineLogOperations = {
  getMachineLogs: {
    surface: "v1",
    method: "GET",
    path: "/v1/machines/:id/logs",
    tag: "machines",
    summary: "Read the console log of a machine",
    description:
      "What its main process and its kernel have printed. " +
      "The log outlives restarts; of a long one the beginning is gone. With `follow=true` the answer is a stream of server-sent " +
      'events: `line` with the data `{"line": "…"}`, first the last `lines` and then each as it comes, until the machine is ' +
      "destroyed, which is one `end`; or one `error` with an `Error`. A comment every 15 s keeps the connection alive. " +
      "With `grep` it is only lines that contain that text; a line is cut after 16,384 characters, and a text across a cut is not found.",
    ...path,
    query: MachineLogsQuery,
    answers: { 200: MachineLogs },
    events: [],
    // A program chooses what it prints, as its owner chooses labels and names; what readers are not to see belongs into its environment.
    access: { scope: "machines:read", role: "viewer", rate: "read" },
    audit: { action: "machine.logs", resource: "machine" },
    errors: [
      "machine_not_found",
      "machine_destroyed",
      "host_unavailable",
      "secrets_unavailable",
      "too_many_streams",
    ],
  },
} as const satisfies Operations;
