// The API between control and a host: HTTP on a unix socket on one machine, with mutual TLS between machines.
// Every call is idempotent and names the incarnation (`execution_id`) that it means, so a late call never
// hits a newer VM of the same id. Errors have the same body as on `/v1`.
//
//   GET    /info                                    HostInfo
//   POST   /cache/sweep                             CacheSwept; removes what no template and no disk needs any more
//   POST   /identity/request?key=                   CertificateRequest, of a new key, or of the current one
//   PUT    /identity            HostCertificate     204; it is in use from now on
//   GET    /vms                                     VmList
//   PUT    /vms/{id}            VmSpec              Vm; answers once the guest agent has answered, or when a clone that
//                                                 waited was taken: it is `creating`, and what is asked of it waits
//   GET    /vms/{id}                                Vm
//   DELETE /vms/{id}?execution_id=                  204, also where it is gone already; a machine's disk and console log go too
//   POST   /vms/{id}/recover                        Vm, `gone`: a machine whose record was damaged has a new one
//   POST   /vms/{id}/stop       StopVm              Vm, `stopped`; only machines can be stopped
//   GET    /vms/{id}/console?lines=&follow=         the console log's last lines as they are, and with follow what comes then
//   POST   /vms/{id}/execute    ExecuteCommand      frames: DATA, STDERR, then CLOSE (ExecuteExit) or RESET (ErrorBody)
//                               or COMMAND_WITH_INPUT: the same, and what the command reads
//   PUT    /vms/{id}/file?path=[&mode=] raw bytes   FileWritten
//   GET    /vms/{id}/file?path=                     raw bytes
//   PUT    /vms/{id}/egress     EgressChange        HostEgressReport of what is in force: this policy, or a later one
//   GET    /vms/{id}/egress?execution_id=           HostEgressReport
//   …      /vms/{id}/directory, …/entry             files.ts
//   …      /vms/{id}/executions…                    executions.ts
//
// Pauses and snapshots are in `snapshots.ts`, moves in `move-calls.ts`, builds and templates in `templates.ts`.

import { Type, type Static } from "typebox";
import { ATTRIBUTES_MAX_BYTES } from "../bounds.ts";
import { Env, Nullable, OneOf, Timestamp } from "../fields.ts";
import { HostEgress } from "../vms/egress.ts";
import { vmCauses } from "../vms/vm-causes.ts";
import { VmOrigin } from "./snapshots.ts";
import { VmBuild } from "./templates.ts";

const closed = { additionalProperties: false } as const;

/** Content type of an `execute` answer: the frames of `frames.ts`, stream 1. */
export const FRAMES_CONTENT_TYPE = "application/vnd.skerry.frames";

/** Content type of an `execute` request whose body is an ExecuteCommand as JSON on one line, and then the
 *  command's standard input, byte for byte. A host of a version that cannot pass it on refuses the type, so
 *  no input is ever dropped in silence. */
export const COMMAND_WITH_INPUT = "application/vnd.skerry.command-with-input";

/** Counts the changes of a VM's policy. A host never goes back to a lower one, so a change that comes late
 *  changes nothing. */
const EgressVersion = Type.Integer({ minimum: 1 });

export const VmSpec = Type.Object(
  {
    // Becomes part of a process' name and of a cgroup's path.
    execution_id: Type.String({ pattern: "^[a-z0-9_]{1,64}$" }),
    template: Type.String({ maxLength: 100, description: "Template name." }),
    size: Type.String({ maxLength: 100 }),
    hostname: Type.String({ pattern: "^[a-z0-9-]{1,63}$" }),
    env: Env,
    /**
     * Secrets of its environment, by their variables. The host keeps them in memory alone, and only until the
     * guest has them. Absent where there are none: a host of a version before does not know the field.
     */
    secrets: Type.Optional(Env),
    egress: HostEgress,
    egress_version: EgressVersion,
    /** Absent where it starts from its template. */
    from: Type.Optional(VmOrigin),
    /** Of a VM in which a template is built: what is on its second disk. The template serves builds, then, and no VM without it is one of
     *  that template. Neither with `machine` nor with `from`. */
    build: Type.Optional(VmBuild),
    /** Absent for a sandbox. A machine's disk and console log stay when it ends, until it is destroyed:
     *  where its host still has its disk, a `PUT` with a new execution id boots from it. Until then the
     *  host lists it under the execution id of its last VM: that is no stale incarnation, and to `DELETE`
     *  it is to lose the disk. */
    machine: Type.Optional(
      Type.Object(
        {
          /** Shell command line of the main process, whose end is the machine's. Null: it has none. */
          command: Nullable(Type.String()),
          /** `kept`: the one of its last VM, and nothing is started where the host does not have it.
           *  `new`: a fresh one of the template; one that is there is removed. */
          disk: OneOf(["new", "kept"]),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type VmSpec = Static<typeof VmSpec>;

/** How a main process ended. */
export const MainExit = Type.Object(
  {
    exit_code: Type.Integer({ description: "Its own, or 128 + the signal's number." }),
    signal: Type.Integer({ description: "Number of the signal that ended it, 0 for none." }),
    oom_killed: Type.Boolean(),
  },
  closed,
);
export type MainExit = Static<typeof MainExit>;

export const Vm = Type.Object(
  {
    id: Type.String(),
    execution_id: Type.String(),
    template: Type.String(),
    size: Type.String(),
    /** `gone`: the VM ended by itself or was lost; its resources are given back and `reason` says why.
     *  `stopped`: it was told to, and its disk is kept. Of a machine that is gone the disk is kept too.
     *  `paused`: a sandbox that stands still in files. */
    status: OneOf(["creating", "running", "paused", "stopped", "gone"]),
    reason: Nullable(Type.String()),
    /** Absent where it has not ended by itself. */
    cause: Type.Optional(OneOf(vmCauses)),
    /** Of a machine whose main process has ended, also because it was told to. */
    exit: Type.Optional(MainExit),
    started_at: Timestamp,
  },
  closed,
);
export type Vm = Static<typeof Vm>;

export const VmList = Type.Object({ items: Type.Array(Vm) }, closed);
export type VmList = Static<typeof VmList>;

export const StopVm = Type.Object(
  {
    execution_id: Type.String({ maxLength: 64 }),
    /** Between SIGTERM and SIGKILL to the main process. */
    grace_ms: Type.Integer({ minimum: 0 }),
    /**
     * Only where nothing has used it for so long; otherwise `vm_in_use`, and it goes on. Absent: in any case.
     * Not known to hosts that list no machines among those that nothing uses.
     */
    unused_ms: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  closed,
);
export type StopVm = Static<typeof StopVm>;

export const ConsoleQuery = Type.Object(
  { lines: Type.Integer({ minimum: 0, maximum: 10_000 }), follow: Type.Boolean() },
  closed,
);

export const EgressChange = Type.Object(
  { execution_id: Type.String({ maxLength: 64 }), egress: HostEgress, version: EgressVersion },
  closed,
);
export type EgressChange = Static<typeof EgressChange>;

export const ExecuteCommand = Type.Object(
  {
    execution_id: Type.String({ maxLength: 64 }),
    command: Type.String(),
    workdir: Nullable(Type.String()),
    env: Env,
    timeout_ms: Type.Integer({ minimum: 1 }),
    /** Bytes of stdout, and of stderr, after which the rest is dropped; 0 for no limit. */
    output_limit: Type.Integer({ minimum: 0 }),
  },
  closed,
);
export type ExecuteCommand = Static<typeof ExecuteCommand>;

export const ExecutionQuery = Type.Object({ execution_id: Type.String({ maxLength: 64 }) }, closed);
export const PathQuery = Type.Object(
  { execution_id: Type.String({ maxLength: 64 }), path: Type.String({ maxLength: 20_000 }) },
  closed,
);
export const FileWriteHostQuery = Type.Object(
  {
    execution_id: Type.String({ maxLength: 64 }),
    path: Type.String({ maxLength: 20_000 }),
    // Absent: that of the file which is replaced, or 0644.
    mode: Type.Optional(Type.Integer({ minimum: 0, maximum: 0o7777 })),
    // A JSON object of text. A host of an earlier version does not know it, so it is not sent where there are none.
    attributes: Type.Optional(Type.String({ maxLength: 2 * ATTRIBUTES_MAX_BYTES })),
  },
  closed,
);
