// What a host remembers of a VM: `vm.json` in the VM's folder. From it a restarted host finds its running VMs again.

import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Nullable } from "@skerry/contract/common";
import { HostEgress } from "@skerry/contract/egress";
import { Vm, VmSpec } from "@skerry/contract/host-api";
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import type { ProcessIdentity } from "./process.ts";

/** The files under a VM's disk, which nobody may remove or change before the VM is gone. */
export const DiskBelow = Type.Object(
  { root_image: Type.String({ minLength: 1 }), frozen_disk: Type.String({ minLength: 1 }) },
  { additionalProperties: false },
);
export type DiskBelow = Static<typeof DiskBelow>;

/** What makes a VM a machine. */
const MachineRecord = Type.Object(
  {
    /** Its main process. */
    command: Nullable(Type.String()),
    /** It has run, so its disk may hold what nobody else has: the disk stays when the VM ends. */
    keeps_disk: Type.Boolean(),
    /** It was told to stop: however it ends now, that is what it did. */
    stopping: Type.Boolean(),
  },
  { additionalProperties: false },
);
export type MachineRecord = Static<typeof MachineRecord>;

/** What makes a clone somebody. */
const Waking = Type.Pick(VmSpec, ["hostname", "env"]);
export type Waking = Static<typeof Waking>;

export interface VmRecord extends Vm {
  /** Name of the QEMU process. */
  readonly name: string;
  readonly folder: string;
  readonly slot: number;
  readonly process: ProcessIdentity | undefined;
  /** In force in the slot, or about to be. */
  readonly egress: HostEgress;
  readonly egress_version: number;
  /** Absent until its disk is made, and from VMs of versions before it. */
  readonly below?: DiskBelow;
  /** Absent for a sandbox. */
  readonly machine?: MachineRecord;
  /** The rate by which its guest tells the time, where that is not this host's own: it came from another one. */
  readonly tsc_khz?: number;
  /** It is on its way to another host, and may stand still because it is there already. */
  readonly departure?: { readonly move_id: string };
  /** It is on its way here. Whole: it could go on here. */
  readonly arrival?: { readonly move_id: string; readonly whole: boolean };
  /** Its clone was taken, and somebody may count on it already: what its guest still has to be given. Not kept any longer, because an
   *  environment holds secrets. */
  readonly waking?: Waking;
}

export const RECORD = "vm.json";

/** Folders are removed and processes killed by what a record says, so nothing is believed that `saveRecord` has not written. */
const recordShape = Compile(
  Type.Object({
    ...Vm.properties,
    name: Type.String({ minLength: 1 }),
    folder: Type.String(),
    slot: Type.Integer({ minimum: 0 }),
    egress: HostEgress,
    egress_version: Type.Integer({ minimum: 1 }),
    below: Type.Optional(DiskBelow),
    machine: Type.Optional(MachineRecord),
    tsc_khz: Type.Optional(Type.Integer({ minimum: 1 })),
    departure: Type.Optional(Type.Object({ move_id: Type.String() })),
    arrival: Type.Optional(Type.Object({ move_id: Type.String(), whole: Type.Boolean() })),
    waking: Type.Optional(Waking),
    process: Type.Optional(
      Type.Object({ pid: Type.Integer({ minimum: 2 }), startTicks: Type.Integer({ minimum: 0 }) }),
    ),
  }),
);

/** Replaces the record whole: a host that is killed here leaves the old one. */
export async function saveRecord(record: VmRecord): Promise<void> {
  const file = join(record.folder, RECORD);
  await writeFile(`${file}.part`, JSON.stringify(record), { mode: 0o600 });
  await rename(`${file}.part`, file);
}

/** For a folder that is given the VM's name after this, and is no VM's until then, whatever of the record is in it: so nothing has to be
 *  replaced whole, which takes four times as long (1.3 instead of 0.3 ms). */
export async function prepareRecord(record: VmRecord, folder: string): Promise<void> {
  await writeFile(join(folder, RECORD), JSON.stringify(record), { mode: 0o600 });
}

export interface FoundFolder {
  readonly id: string;
  readonly folder: string;
  /** Undefined where the host was killed before it wrote one, or the file is damaged. */
  readonly record: VmRecord | undefined;
}

/** Every VM folder that there is. */
export async function readRecords(vmsFolder: string): Promise<FoundFolder[]> {
  const names = await readdir(vmsFolder).catch(() => [] as string[]);
  return Promise.all(
    names.map(async (id) => {
      const folder = join(vmsFolder, id);
      return { id, folder, record: await readRecord(id, folder) };
    }),
  );
}

async function readRecord(id: string, folder: string): Promise<VmRecord | undefined> {
  try {
    const record: unknown = JSON.parse(await readFile(join(folder, RECORD), "utf8"));
    if (!recordShape.Check(record) || record.id !== id || record.folder !== folder) return undefined;
    return { ...record, process: record.process };
  } catch {
    return undefined;
  }
}

/** Nothing of it runs, and only files are left. */
export function hasEnded({ status }: VmRecord): boolean {
  return status === "gone" || status === "stopped";
}

/** What this VM has written is kept when it ends, until it is destroyed. */
export function keepsDisk({ machine }: VmRecord): boolean {
  return machine?.keeps_disk === true;
}

/** Files that the disks of these VMs stand on, also of those that do not run: they must stay. */
export async function filesBelow(vmsFolder: string): Promise<Set<string>> {
  const records = await readRecords(vmsFolder);
  return new Set(records.flatMap(({ record }) => Object.values(record?.below ?? {})));
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
