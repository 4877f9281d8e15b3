// The record of a VM: `vm.json` in its folder. A restarted host process finds its VMs by it.

import { syncFolder } from "../../system/sync-folder.ts";
import { open, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Nullable, OneOf } from "@skerry/contract/fields";
import { HostEgress } from "@skerry/contract/vms/egress";
import { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import { DiskImage, DiskLayer } from "@skerry/contract/host-api/templates";
import { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import { BackingFiles } from "../disk/backing-files.ts";
import type { MemoryOf } from "./memory-of.ts";
import type { ProcessIdentity } from "../qemu/process.ts";
import { keepInjection } from "./secrets-in-memory.ts";

/** What makes a VM a machine. */
const MachineRecord = Type.Object(
  {
    /** Its main process. */
    command: Nullable(Type.String()),
    /** The machine has run, so its disk may hold the only copy of its data: the disk stays when the VM
     *  ends. */
    keeps_disk: Type.Boolean(),
    /** The machine was told to stop: however it ends now, it ends as stopped. */
    stopping: Type.Boolean(),
  },
  { additionalProperties: false },
);
export type MachineRecord = Static<typeof MachineRecord>;

/** What makes a VM one in which a template is built. */
const BuildRecord = Type.Object(
  {
    /** What its target stands on. */
    image: DiskImage,
    target: Type.Object(
      { root_image: Type.String({ minLength: 1 }), layers: Type.Array(Type.String({ minLength: 1 })) },
      { additionalProperties: false },
    ),
    /** Of the image that comes of it. */
    disk_gib: Type.Integer({ minimum: 1 }),
    /** In the order in which they were asked for. One without a layer is under way. */
    seals: Type.Array(
      Type.Object(
        {
          id: Type.String({ minLength: 1 }),
          /** Its layer stands on the lowest alone. Known before there is a layer. */
          is_flat: Type.Optional(Type.Literal(true)),
          layer: Type.Optional(DiskLayer),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);
export type BuildRecord = Static<typeof BuildRecord>;

/** The identity that a warm clone gets when it is taken. */
const Waking = Type.Object({
  ...Type.Pick(VmSpec, ["hostname", "env"]).properties,
  /** Secrets are in a file besides: secrets-in-memory.ts. */
  has_secrets: Type.Optional(Type.Literal(true)),
});
export type Waking = Static<typeof Waking>;

export interface VmRecord extends Vm {
  /** Name of the QEMU process. */
  readonly name: string;
  readonly folder: string;
  readonly slot: number;
  readonly process: ProcessIdentity | undefined;
  /** The policy that is in force in the slot, or is being loaded. */
  readonly egress: HostEgress;
  readonly egress_version: number;
  /** Absent until its disk is made, and from VMs of versions before it. */
  readonly below?: BackingFiles;
  /** Absent for a sandbox. */
  readonly machine?: MachineRecord;
  /** Absent for a sandbox and a machine. */
  readonly build?: BuildRecord;
  /** What its memory was at first; see `memory-of.ts`. Absent until it is started, and from VMs of versions before it, whose QEMU cannot
   *  leave memory out of what it saves. */
  readonly memory_of?: MemoryOf;
  /** The QEMU that runs it, which need not be the one that is installed now. Absent until it is started, and from VMs of versions before
   *  it. */
  readonly started_with?: HostCompatibility;
  /** From VMs of versions before `started_with`: TSC rate of its guest in kHz, where that is not this host's own because the VM came from
   *  another host. */
  readonly tsc_khz?: number;
  /** The VM is moving to another host, and may be paused because the target has it already. */
  readonly departure?: { readonly move_id: string };
  /** The VM is moving to this host. `whole`: disk and memory are complete. */
  readonly arrival?: { readonly move_id: string; readonly whole: boolean };
  /** Present while its warm clone wakes: the identity that its guest still has to get. Removed afterwards,
   *  because an environment holds secrets. */
  readonly waking?: Waking;
}

export const RECORD = "vm.json";

/** Raised when a record of this version would be misunderstood by a host of the version before. */
export const FORMAT = 3;
/** Of records that earlier versions understand, too: the first does not know paused VMs, and the second no template that was built. */
const FORMAT_OF_PAUSED = 2;
const FORMAT_OF_FIRST = 1;

/** Folders are removed and processes killed by what a record says, so nothing is believed that
 *  `saveRecord` has not written. A field that is not named here was written by a newer version, and may
 *  mean that the others mean something else. */
const RecordShape = Type.Object(
  {
    ...Vm.properties,
    /** Absent from records of versions before it. */
    format: Type.Optional(Type.Integer({ minimum: 1 })),
    name: Type.String({ minLength: 1 }),
    /** Written for hosts of versions before `format`, which remove what lacks it; where a folder is, is
     *  where it was found. */
    folder: Type.String(),
    slot: Type.Integer({ minimum: 0 }),
    egress: HostEgress,
    egress_version: Type.Integer({ minimum: 1 }),
    below: Type.Optional(BackingFiles),
    machine: Type.Optional(MachineRecord),
    build: Type.Optional(BuildRecord),
    memory_of: Type.Optional(OneOf(["template", "own"])),
    started_with: Type.Optional(HostCompatibility),
    tsc_khz: Type.Optional(Type.Integer({ minimum: 1 })),
    departure: Type.Optional(Type.Object({ move_id: Type.String() })),
    arrival: Type.Optional(Type.Object({ move_id: Type.String(), whole: Type.Boolean() })),
    waking: Type.Optional(Waking),
    process: Type.Optional(
      Type.Object({ pid: Type.Integer({ minimum: 2 }), startTicks: Type.Integer({ minimum: 0 }) }),
    ),
  },
  { additionalProperties: false },
);
export const recordShape = Compile(RecordShape);

/** The record as files have it: what its requests get on their way is in memory alone. */
export function withoutInjection(record: VmRecord): VmRecord {
  const { injection: _secret, ...egress } = record.egress;
  return { ...record, egress };
}

/** Replaces the record whole: a host that is killed here leaves the old one. A machine's, and a paused VM's, is on the disk
 *  when this resolves, with its folder's entry: a power failure after that loses neither. A sandbox that runs does
 *  not outlive a power failure, so its record need not. */
export async function saveRecord(record: VmRecord): Promise<void> {
  if (!hasEnded(record)) await keepInjection(record);
  const file = join(record.folder, RECORD);
  const part = await open(`${file}.part`, "w", 0o600);
  try {
    await part.writeFile(textOf(record));
    if (outlivesPower(record)) await part.sync();
  } finally {
    await part.close();
  }
  await rename(`${file}.part`, file);
  if (outlivesPower(record)) await syncFolder(record.folder);
}

function outlivesPower({ machine, status }: VmRecord): boolean {
  return machine !== undefined || status === "paused";
}

/** Writes the record into a folder that is renamed to the VM's id afterwards. Until then the folder
 *  belongs to no VM, so the file need not be replaced atomically, which takes four times as long (1.3
 *  instead of 0.3 ms). */
export async function prepareRecord(record: VmRecord, folder: string): Promise<void> {
  await Promise.all([
    keepInjection(record),
    writeFile(join(folder, RECORD), textOf(record), { mode: 0o600 }),
  ]);
}

function textOf(record: VmRecord): string {
  return JSON.stringify({ format: formatOf(record), ...withoutInjection(record) });
}

function formatOf({ status, build, below }: VmRecord): number {
  if (build !== undefined || below?.layers !== undefined) return FORMAT;
  return status === "paused" ? FORMAT_OF_PAUSED : FORMAT_OF_FIRST;
}

/** In the fields of a record that was damaged, where it is not known what they were. */
export const UNKNOWN = "unknown";

/** Whether this is the record of that incarnation, or of one that is not known. */
export function mayBe({ execution_id }: VmRecord, executionId: string): boolean {
  return execution_id === executionId || execution_id === UNKNOWN;
}

/** Whether the VM has ended: no process of it runs, and only files are left. */
export function hasEnded({ status }: VmRecord): boolean {
  return status === "gone" || status === "stopped" || status === "paused";
}

/** Whether the request that creates the VM was not answered yet. For a VM that wakes from a warm clone it was. */
export function isBeingCreated({ status, waking }: Pick<VmRecord, "status" | "waking">): boolean {
  return status === "creating" && waking === undefined;
}

/** Whether the disk of this VM is kept when it ends, until it is destroyed. */
export function keepsDisk({ machine }: VmRecord): boolean {
  return machine?.keeps_disk === true;
}

/** Whether this file certainly does not exist. */
export function isWithout(file: string): Promise<boolean> {
  return stat(file).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ENOTDIR",
  );
}

/** The part of the record that the host API shows. */
export function shown(record: VmRecord): Vm {
  const { id, execution_id, template, size, status, reason, started_at, cause, exit } = record;
  return {
    ...{ id, execution_id, template, size, status, reason, started_at },
    ...(cause === undefined ? {} : { cause }),
    ...(exit === undefined ? {} : { exit }),
  };
}
