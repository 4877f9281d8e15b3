// The part of the host API by which a VM moves to another host. Control calls both hosts; the source sends
// the data straight to the target.
//
//   GET    /vms/{id}/manifest?execution_id=         VmManifest; what the target needs, and what it must be compatible with
//   PUT    /vms/{id}/arrival         ArrivalOrder   ArrivalNeeds; from here on the target holds room for it, under its policy
//   GET    /vms/{id}/arrival?execution_id=          204 once all of it is here
//   PUT    /vms/{id}/departure       DepartureOrder Departed; the target has all of it, and here it stands still until told
//   DELETE /vms/{id}/departure?move_id=             204; it goes on here. Also right where nothing was under way
//   POST   /vms/{id}/arrival/resume  ResumeOrder    Vm; runs here now
//
// Control ends the copy that is not used with `DELETE /vms/{id}` and its execution id: the target's before
// the decision, the source's after it.
//
// From source to target, with the ticket in `x-skerry-ticket`:
//
//   PUT    /vms/{id}/arrival/layers/{digest}        a layer in the form of `layerStream`; 204
//   GET    /vms/{id}/arrival/disk, …/memory         `Upgrade: skerry-move`; from then on what the two QEMUs say to each other

import { Type, type Static } from "typebox";
import { Nullable } from "../fields.ts";
import { HostCompatibility } from "../moves/host-compatibility.ts";
import { HostEgress } from "../vms/egress.ts";

const closed = { additionalProperties: false } as const;

const MoveId = Type.String({ pattern: "^[a-z0-9_]{1,64}$" });
const ExecutionId = Type.String({ pattern: "^[a-z0-9_]{1,64}$" });
const Digest = Type.String({ pattern: "^[0-9a-f]{64}$" });

/** The root image, the layers of a template that was built, the frozen disk. */
const LAYERS_MAX = 18;

/** 256 bits. Valid for one move, and once for each of its streams. */
const Ticket = Type.String({ pattern: "^[0-9a-f]{64}$" });

/** Name and header of the connection between two hosts. */
export const MOVE_PROTOCOL = "skerry-move";
export const TICKET_HEADER = "x-skerry-ticket";

/** The two streams between two QEMUs. */
export const moveStreams = ["disk", "memory"] as const;
export type MoveStream = (typeof moveStreams)[number];

/** Describes a VM to the host that it moves to. */
export const VmManifest = Type.Object(
  {
    template: Type.String({ maxLength: 100 }),
    size: Type.String({ maxLength: 100 }),
    compatibility: HostCompatibility,
    disk_gib: Type.Integer({ minimum: 1, maximum: 1_024 }),
    /** Absent for a sandbox. */
    machine: Type.Optional(Type.Object({ command: Nullable(Type.String()) }, closed)),
    /** The base files of its disk, by digest. */
    below: Type.Object(
      {
        root_image: Digest,
        /** Between the two, the lowest first. Absent where the template is built in. */
        layers: Type.Optional(Type.Array(Digest, { maxItems: 16 })),
        frozen_disk: Digest,
      },
      closed,
    ),
  },
  closed,
);
export type VmManifest = Static<typeof VmManifest>;

export const ArrivalOrder = Type.Object(
  {
    move_id: MoveId,
    /** The execution id of the VM on the target. */
    execution_id: ExecutionId,
    ticket: Ticket,
    egress: HostEgress,
    egress_version: Type.Integer({ minimum: 1 }),
    manifest: VmManifest,
  },
  closed,
);
export type ArrivalOrder = Static<typeof ArrivalOrder>;

export const ArrivalNeeds = Type.Object(
  { layers: Type.Array(Digest, { maxItems: LAYERS_MAX, description: "That this host does not have yet." }) },
  closed,
);
export type ArrivalNeeds = Static<typeof ArrivalNeeds>;

export const DepartureOrder = Type.Object(
  {
    move_id: MoveId,
    execution_id: ExecutionId,
    /** Where control reaches the target. */
    address: Type.String({ maxLength: 300 }),
    ticket: Ticket,
    layers: Type.Array(Digest, { maxItems: LAYERS_MAX }),
  },
  closed,
);
export type DepartureOrder = Static<typeof DepartureOrder>;

export const Departed = Type.Object(
  {
    /** Since when the guest has stood still, milliseconds; its row should be decided about soon. */
    still_ms: Type.Integer({ minimum: 0 }),
    /** What went from QEMU to QEMU. */
    disk_bytes: Type.Integer({ minimum: 0 }),
    memory_bytes: Type.Integer({ minimum: 0 }),
  },
  closed,
);
export type Departed = Static<typeof Departed>;

/** The policy as it is at the moment of the decision: it may have changed since the move began. */
export const ResumeOrder = Type.Object(
  { execution_id: ExecutionId, egress: HostEgress, egress_version: Type.Integer({ minimum: 1 }) },
  closed,
);
export type ResumeOrder = Static<typeof ResumeOrder>;

export const MoveQuery = Type.Object({ move_id: MoveId }, closed);
export const LayerParams = Type.Object(
  { id: Type.String({ pattern: "^[a-z]{3}_[a-z0-9]{1,40}$" }), digest: Digest },
  closed,
);
