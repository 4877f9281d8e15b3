// The part of the host API by which a VM is paused, kept as a snapshot, and started from what was kept.
//
//   POST   /vms/{id}/pause      PauseVm             Vm, `paused`: it holds neither memory nor CPUs nor a slot. Only sandboxes: a machine is
//                                                   stopped. Twice is one pause
//   GET    /unused-vms                              UnusedVms: VMs that run and that nothing uses; not known to hosts of versions before it, of which some list
//                                                   no machines
//   PUT    /vms/{id}            VmSpec with `from`  Vm; goes on where it was paused, or begins where a snapshot was taken. At a snapshot a later
//                                                   incarnation of a sandbox takes the place of the one that is there, which is destroyed
//                                                   when the snapshot was found whole and fit to run; hosts of versions before answer
//                                                   `stale_execution`
//   POST   /vms/{id}/snapshots  SnapshotVm          HostSnapshot; the VM goes on. Twice is one snapshot
//   GET    /snapshots                               HostSnapshotList
//   DELETE /snapshots/{id}                          204, also where it is gone already
//
// A pause or a snapshot that fails changes nothing: the VM goes on. A VM that does not wake stays
// paused, under the execution id that it was to have.

import { Type, type Static } from "typebox";
import { Timestamp } from "../fields.ts";
import { HostCompatibility } from "../moves/host-compatibility.ts";

const closed = { additionalProperties: false } as const;

const ExecutionId = Type.String({ pattern: "^[a-z0-9_]{1,64}$" });
/** Becomes the name of a folder. */
const SnapshotId = Type.String({ pattern: "^snp_[a-z0-9]{26}$" });

export const PauseVm = Type.Object(
  {
    execution_id: ExecutionId,
    /** Only where nothing has used it for so long; otherwise `vm_in_use`, and it goes on. Absent: in any case. */
    unused_ms: Type.Optional(Type.Integer({ minimum: 1 })),
    /** What the guest holds in memory of its disk is written there first, so that the disk alone is enough to boot from. Hosts of versions
     *  before it refuse the field. */
    sync: Type.Optional(Type.Literal(true)),
  },
  closed,
);
export type PauseVm = Static<typeof PauseVm>;

/** In use: a call into it is under way, from its first byte to its last, or an execution runs in it. A process that a
 *  command has left behind is none. */
export const UnusedVm = Type.Object(
  {
    id: Type.String(),
    execution_id: Type.String(),
    /** Since its last use, or since this host process knows it. */
    unused_ms: Type.Integer({ minimum: 0 }),
  },
  closed,
);
export type UnusedVm = Static<typeof UnusedVm>;

export const UnusedVms = Type.Object({ items: Type.Array(UnusedVm) }, closed);

export const SnapshotVm = Type.Object({ execution_id: ExecutionId, snapshot_id: SnapshotId }, closed);
export type SnapshotVm = Static<typeof SnapshotVm>;

export const SnapshotParams = Type.Object({ id: SnapshotId }, closed);

/** What a VM starts from that is not started from its template. */
export const VmOrigin = Type.Union([
  /** What is paused under this id on this host, whatever its execution id. */
  Type.Object(
    {
      kind: Type.Literal("paused"),
      /** It boots from its disk, and what it had in memory is lost. Hosts of versions before it refuse the field. */
      reboot: Type.Optional(Type.Literal(true)),
    },
    closed,
  ),
  /** Template and size are the snapshot's. */
  Type.Object({ kind: Type.Literal("snapshot"), snapshot_id: SnapshotId }, closed),
]);
export type VmOrigin = Static<typeof VmOrigin>;

export const HostSnapshot = Type.Object(
  {
    id: SnapshotId,
    vm_id: Type.String(),
    template: Type.String(),
    size: Type.String(),
    /** Of its pages, which are those that differ from the template's memory. */
    memory_bytes: Type.Integer({ minimum: 0 }),
    /** Of its disk's own layer. */
    disk_bytes: Type.Integer({ minimum: 0 }),
    created_at: Timestamp,
    /** A VM that starts from it can run where this one could go on. */
    runs_on: HostCompatibility,
  },
  closed,
);
export type HostSnapshot = Static<typeof HostSnapshot>;

export const HostSnapshotList = Type.Object({ items: Type.Array(HostSnapshot) }, closed);
