// The record of a VM: `vm.json` in its folder. A restarted host process finds its VMs by it.

import { open, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Nullable } from "@skerry/contract/fields";
import { HostEgress } from "@skerry/contract/vms/egress";
import { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import { BackingFiles, placedBackingFiles, type BackingPlaces } from "./disk/backing-files.ts";
import { worksIn, type ProcessIdentity } from "./qemu/process.ts";

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

/** The identity that a warm clone gets when it is taken. */
const Waking = Type.Pick(VmSpec, ["hostname", "env"]);
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
const FORMAT = 1;

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
const recordShape = Compile(RecordShape);

/** Replaces the record whole: a host that is killed here leaves the old one. A machine's is on the disk
 *  when this resolves, with its folder's entry: a power failure after that loses neither. A sandbox does
 *  not outlive a power failure, so its record need not. */
export async function saveRecord(record: VmRecord): Promise<void> {
  const file = join(record.folder, RECORD);
  const part = await open(`${file}.part`, "w", 0o600);
  try {
    await part.writeFile(textOf(record));
    if (record.machine !== undefined) await part.sync();
  } finally {
    await part.close();
  }
  await rename(`${file}.part`, file);
  if (record.machine !== undefined) await syncFolder(record.folder);
}

/** Writes the record into a folder that is renamed to the VM's id afterwards. Until then the folder
 *  belongs to no VM, so the file need not be replaced atomically, which takes four times as long (1.3
 *  instead of 0.3 ms). */
export async function prepareRecord(record: VmRecord, folder: string): Promise<void> {
  await writeFile(join(folder, RECORD), textOf(record), { mode: 0o600 });
}

function textOf(record: VmRecord): string {
  return JSON.stringify({ format: FORMAT, ...record });
}

/** Has the kernel write down which files are in the folder. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** What was found in the place of a VM's record. */
export type FoundRecord =
  /** `former`: what it names as its process, where it was written under another path of the state folder. */
  | { readonly kind: "mine"; readonly record: VmRecord; readonly former?: ProcessIdentity | undefined }
  /** There is none: the host was killed before it wrote one. */
  | { readonly kind: "absent" }
  /** The disk could not be read, or a newer version of the host wrote it. A later host process may
   *  understand it. */
  | { readonly kind: "unreadable" | "newer"; readonly why: string }
  /** It is not what any version of the host writes. */
  | { readonly kind: "damaged"; readonly why: string };

/** The host whose records are read. */
export interface RecordOwner {
  /** What this host's processes, namespaces and cgroups are named after; it follows from where its state
   *  folder is. */
  readonly instance: string;
  readonly places: BackingPlaces;
}

export interface FoundFolder {
  /** Name of the folder. */
  readonly id: string;
  readonly folder: string;
  readonly found: FoundRecord;
}

/** Every folder that there is. Rejects where the folder of all VMs is there and cannot be listed: what it holds is not known then. And where
 *  the state folder was moved under VMs that run: this host could neither use them nor end them, and must not take what is theirs. */
export async function readRecords(vmsFolder: string, owner: RecordOwner): Promise<FoundFolder[]> {
  const names = await readdir(vmsFolder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const found: FoundFolder[] = [];
  // A few at a time: thousands of open files at once would make records unreadable by themselves.
  for (let first = 0; first < names.length; first += READ_AT_ONCE) {
    const some = names.slice(first, first + READ_AT_ONCE).map(async (id) => {
      const folder = join(vmsFolder, id);
      return { id, folder, found: await readRecord(id, folder, owner) };
    });
    found.push(...(await Promise.all(some)));
  }
  for (const one of found) await refuseMovedAlive(one);
  return found;
}

/** A copy is another folder, and the VMs of the original are not in it. */
async function refuseMovedAlive({ id, folder, found }: FoundFolder): Promise<void> {
  if (found.kind !== "mine" || found.former === undefined || !(await worksIn(found.former, folder))) return;
  throw new Error(
    `${id} runs (pid ${found.former.pid}): ${folder} had another path when it was started. ` +
      "Move the state folder back there, run `skerry down`, and move it then.",
  );
}

const READ_AT_ONCE = 64;

/** Never rejects: a fault of the record is part of the result. */
export async function readRecord(id: string, folder: string, owner: RecordOwner): Promise<FoundRecord> {
  let text: string;
  try {
    text = await readFile(join(folder, RECORD), "utf8");
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return { kind: "absent" };
    return { kind: "unreadable", why: `${RECORD} could not be read (${code})` };
  }
  return understood(id, folder, { text, owner });
}

function understood(
  id: string,
  folder: string,
  { text, owner }: { readonly text: string; readonly owner: RecordOwner },
): FoundRecord {
  const value = jsonOf(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { kind: "damaged", why: `${RECORD} holds no record` };
  if (isNewer(value)) return { kind: "newer", why: `${RECORD} was written by a newer version of the host` };
  if (!recordShape.Check(value)) return { kind: "damaged", why: `${RECORD} is not as a host writes it` };
  if (value.id !== id) return { kind: "damaged", why: `${RECORD} is the record of ${value.id}` };
  const { format: _written, below, ...record } = value;
  return {
    kind: "mine",
    record: {
      ...record,
      ...identityOf({ ...record, process: record.process }, owner),
      folder,
      ...(below === undefined ? {} : { below: placedBackingFiles(below, owner.places) }),
    },
    former: isOurs(value, owner) ? undefined : value.process,
  };
}

/** A state folder that was moved or copied has another name for its processes. Those that its records name
 *  ended before it was moved, or are those of the folder that it is a copy of. */
function identityOf(
  { id, execution_id, name, process }: Pick<VmRecord, "id" | "execution_id" | "name" | "process">,
  owner: RecordOwner,
): Pick<VmRecord, "name" | "process"> {
  if (isOurs({ name }, owner)) return { name, process };
  return { name: `${owner.instance}:${id}:${execution_id}`, process: undefined };
}

function isOurs({ name }: Pick<VmRecord, "name">, { instance }: RecordOwner): boolean {
  return name.startsWith(`${instance}:`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Its `format` is newer, or its only faults are fields that this version does not know. */
function isNewer(value: object): boolean {
  const { format } = value as { readonly format?: unknown };
  if (typeof format === "number" && format > FORMAT) return true;
  const faults = recordShape.Errors(value);
  // An unknown field is told of twice: of itself, and of the object that has it.
  const unknownField = ({ keyword }: { keyword: string }): boolean =>
    keyword === "additionalProperties" || keyword === "boolean";
  return faults.length > 0 && faults.every(unknownField);
}

/** In the fields of a record that was damaged, where it is not known what they were. */
export const UNKNOWN = "unknown";

/** Whether this is the record of that incarnation, or of one that is not known. */
export function mayBe({ execution_id }: VmRecord, executionId: string): boolean {
  return execution_id === executionId || execution_id === UNKNOWN;
}

/** Whether the VM has ended: no process of it runs, and only files are left. */
export function hasEnded({ status }: VmRecord): boolean {
  return status === "gone" || status === "stopped";
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
