// The part of the host API by which a saved guest goes to another host: a snapshot, or what is paused. Control calls both hosts; the source
// sends the files straight to the target.
//
//   GET    /saved/{id}/manifest                        SavedManifest; what the target needs, and what it must be compatible with
//   PUT    /saved/{id}/arrival    SavedArrivalOrder    ArrivalNeeds; from here on the target takes its files
//   PUT    /saved/{id}/departure  SavedDepartureOrder  SavedDeparted; the target has all of it. The source keeps its own until it is deleted
//   GET    /saved/{id}/arrival?move_id=                204 once all of it is here, on the disk
//   DELETE /saved/{id}/arrival?move_id=                204; nothing that came with this move is left. Also right where nothing came
//
// `id` is a snapshot's, or a sandbox's: then it is what is paused under this id, whatever its execution id. Control deletes the copy that
// is not used with the arrival at the target before the decision, and as a snapshot or a VM at the source after it.
//
// From source to target, with the ticket in `x-skerry-ticket`:
//
//   PUT    /saved/{id}/arrival/layers/{digest}         a layer in the form of `layerStream`; 204
//   PUT    /saved/{id}/arrival/files/{name}            its bytes; SavedFile, as they have come
//   PUT    /saved/{id}/arrival/seal  SavedFiles        204; they are what was sent, and from here on a saved guest of the target

import { Type, type Static } from "typebox";
import { OneOf, Timestamp } from "../fields.ts";
import { HostCompatibility } from "../moves/host-compatibility.ts";
import { HostEgress } from "../vms/egress.ts";
import { ArrivalOrder, DepartureOrder, VmManifest } from "./move-calls.ts";

const closed = { additionalProperties: false } as const;

export const SavedParams = Type.Object({ id: Type.String({ pattern: "^(snp|sbx)_[a-z0-9]{26}$" }) }, closed);

/** Files of a saved guest; what its disk stands on goes as layers. */
export const savedFileNames = ["memory", "state", "disk"] as const;
export type SavedFileName = (typeof savedFileNames)[number];

export const SavedFileParams = Type.Object(
  { ...SavedParams.properties, name: OneOf(savedFileNames) },
  closed,
);
export const SavedLayerParams = Type.Object(
  { ...SavedParams.properties, digest: VmManifest.properties.below.properties.root_image },
  closed,
);

export const SavedFile = Type.Object(
  { bytes: Type.Integer({ minimum: 0 }), crc32: Type.Integer({ minimum: 0, maximum: 0xffffffff }) },
  closed,
);
export type SavedFile = Static<typeof SavedFile>;

export const SavedFiles = Type.Object({ memory: SavedFile, state: SavedFile, disk: SavedFile }, closed);
export type SavedFiles = Static<typeof SavedFiles>;

/** Describes a saved guest to the host that it goes to. */
export const SavedManifest = Type.Object(
  {
    /** Of the VM that was saved. */
    vm_id: Type.String({ pattern: "^[a-z]{3}_[a-z0-9]{1,40}$" }),
    ...Type.Pick(VmManifest, ["template", "size", "disk_gib", "below"]).properties,
    saved_at: Timestamp,
    /** What its QEMU was when it was started. */
    runs_on: HostCompatibility,
  },
  closed,
);
export type SavedManifest = Static<typeof SavedManifest>;

export const SavedArrivalOrder = Type.Object(
  {
    ...Type.Pick(ArrivalOrder, ["move_id", "ticket"]).properties,
    manifest: SavedManifest,
    /** Of what is paused; absent of a snapshot. The execution id is the one that it has on the target. */
    paused: Type.Optional(
      Type.Object(
        {
          execution_id: ArrivalOrder.properties.execution_id,
          egress: HostEgress,
          egress_version: Type.Integer({ minimum: 1 }),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type SavedArrivalOrder = Static<typeof SavedArrivalOrder>;

export const SavedDepartureOrder = Type.Object(
  Type.Pick(DepartureOrder, ["move_id", "address", "ticket", "layers"]).properties,
  closed,
);
export type SavedDepartureOrder = Static<typeof SavedDepartureOrder>;

export const SavedDeparted = Type.Object(
  {
    /** Of the file of its memory as it was sent, which holds what it had from its template too. */
    memory_bytes: Type.Integer({ minimum: 0 }),
    disk_bytes: Type.Integer({ minimum: 0 }),
  },
  closed,
);
export type SavedDeparted = Static<typeof SavedDeparted>;
