// A guest that stands still in files, and can go on from them: as a paused VM, in its folder, or as a snapshot.
//
//   memory      its pages that differ from the memory that it was started from (native/memory-pages.h)
//   state       of its CPUs and devices
//   disk.qcow2  its disk's own layer; a paused VM keeps it where it is
//   saved.json  what the others belong to, and their checksums; written last, so files without it are worth nothing
//   going-on    of a paused VM that is being resumed: how its disk was before its guest ran (going-on.ts)
//
// What it was started from and what its disk stands on are the template's and stay there: no such folder needs another one. They hold all
// that the guest had in memory, so they are root's alone.

import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { SkerryError } from "@skerry/contract/errors";
import { OneOf, Timestamp } from "@skerry/contract/fields";
import { incompatibility, HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import { BackingFiles, placedBackingFiles, type BackingPlaces } from "../disk/backing-files.ts";
import { STATE_FILE } from "../qemu/device-state.ts";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import { type VmRecord } from "../record/record.ts";
import { syncFolder } from "../../system/sync-folder.ts";

export const savedPaths = {
  memory: "memory",
  state: STATE_FILE,
  manifest: "saved.json",
  goingOn: "going-on",
} as const;

const closed = { additionalProperties: false } as const;
const SavedFile = Type.Object(
  { bytes: Type.Integer({ minimum: 0 }), crc32: Type.Integer({ minimum: 0 }) },
  closed,
);
type SavedFile = Static<typeof SavedFile>;

const SavedGuest = Type.Object(
  {
    format: Type.Literal(1),
    vm_id: Type.String({ minLength: 1 }),
    template: Type.String(),
    size: Type.String(),
    saved_at: Timestamp,
    /** What its memory was at first; see `VmRecord`. */
    memory_of: OneOf(["template", "own"]),
    below: BackingFiles,
    /** What its QEMU was when it was started. */
    runs_on: HostCompatibility,
    files: Type.Object({ memory: SavedFile, state: SavedFile, disk: Type.Optional(SavedFile) }, closed),
    /** The move that it came to this host with; absent where it was saved here. */
    move_id: Type.Optional(Type.String()),
  },
  closed,
);
export type SavedGuest = Static<typeof SavedGuest>;
const savedShape = Compile(SavedGuest);

/** What a VM of this host that was started by this version, or a later one, has. */
export type SavableRecord = VmRecord & Required<Pick<VmRecord, "below" | "started_with" | "memory_of">>;

/** Throws `not_snapshotable` for a VM that an older version of the host started. */
export function savable(record: VmRecord): SavableRecord {
  const { below, started_with, memory_of, build } = record;
  if (build !== undefined)
    throw new SkerryError(
      "not_snapshotable",
      "A VM in which a template is built can be neither paused nor kept.",
    );
  if (below !== undefined && started_with !== undefined && memory_of !== undefined)
    return { ...record, below, started_with, memory_of };
  throw new SkerryError(
    "not_snapshotable",
    "The VM was started by a version of Skerry that could not pause VMs.",
    { remediation: "It can be paused, and snapshots of it be taken, once it was started anew." },
  );
}

/** Says what the files in the folder are, once they are all there and on the disk: this makes them a saved guest. */
export async function sealSaved(
  folder: string,
  record: SavableRecord,
  withDisk: boolean,
): Promise<SavedGuest> {
  const [memory, state, disk] = await Promise.all([
    checksum(join(folder, savedPaths.memory)),
    checksum(join(folder, savedPaths.state)),
    withDisk ? checksum(join(folder, vmPaths.disk)) : undefined,
  ]);
  await sync([savedPaths.memory, savedPaths.state, vmPaths.disk].map((name) => join(folder, name)));
  const { id, template, size, memory_of, below, started_with } = record;
  const saved: SavedGuest = {
    ...{ format: 1, vm_id: id, template, size, memory_of, below, runs_on: started_with },
    saved_at: new Date().toISOString(),
    files: { memory, state, ...(disk === undefined ? {} : { disk }) },
  };
  await writeSaved(folder, saved);
  return saved;
}

/** Its files are on the disk when this is called, and it is when this resolves. */
export async function writeSaved(folder: string, saved: SavedGuest): Promise<void> {
  const manifest = join(folder, savedPaths.manifest);
  const part = await open(`${manifest}.part`, "w", 0o600);
  try {
    await part.writeFile(JSON.stringify(saved));
    await part.sync();
  } finally {
    await part.close();
  }
  await rename(`${manifest}.part`, manifest);
  await syncFolder(folder);
}

/** The VM goes on, or did not stand still after all. */
export async function removeSaved(folder: string): Promise<void> {
  const { memory, state, manifest, goingOn } = savedPaths;
  // The manifest first: without it the others are nothing.
  for (const name of [manifest, `${manifest}.part`, goingOn, memory, state, `${state}.part`])
    await rm(join(folder, name), { force: true });
}

/** What the folder says that it holds; the files themselves are not looked at. Throws `snapshot_damaged`. */
export async function readSaved(folder: string, places: BackingPlaces): Promise<SavedGuest> {
  const text = await readFile(join(folder, savedPaths.manifest), "utf8").catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") throw damaged(`${savedPaths.manifest} is missing`);
      throw error;
    },
  );
  const saved = jsonOf(text);
  if (!savedShape.Check(saved)) throw damaged(`${savedPaths.manifest} is not as a host writes it`);
  return { ...saved, below: placedBackingFiles(saved.below, places) };
}

/** Throws `snapshot_damaged` unless the files are byte for byte what was saved. */
export async function checkSaved(folder: string, { files }: SavedGuest): Promise<void> {
  await Promise.all([
    checkFile(join(folder, savedPaths.memory), files.memory, "its memory"),
    checkFile(join(folder, savedPaths.state), files.state, "the state of its devices"),
    ...(files.disk === undefined ? [] : [checkFile(join(folder, vmPaths.disk), files.disk, "its disk")]),
  ]);
}

/** Throws `snapshot_incompatible` where its guest cannot go on with this host's QEMU and CPU. */
export function checkRunsHere({ runs_on }: SavedGuest, here: HostCompatibility): void {
  const why = incompatibility(runs_on, here);
  if (why === undefined) return;
  throw new SkerryError("snapshot_incompatible", `It cannot go on on this host: ${why}.`, {
    remediation: "Hosts like the one that it was saved on can run it.",
    context: { reason: why },
  });
}

async function checkFile(file: string, saved: SavedFile, what: string): Promise<void> {
  // Cut short is told without reading gigabytes.
  const { size } = await stat(file).catch(() => ({ size: -1 }));
  if (size === saved.bytes && (await checksum(file)).crc32 === saved.crc32) return;
  throw damaged(size < 0 ? `${what} is missing` : `${what} is not what was saved`);
}

function damaged(why: string): SkerryError {
  return new SkerryError("snapshot_damaged", `What was saved of the VM is damaged: ${why}.`, {
    remediation: "It cannot go on. Create one anew, or from another snapshot.",
    context: { reason: why },
  });
}

const READ_BYTES = 1024 * 1024;

async function checksum(file: string): Promise<SavedFile> {
  const found = { bytes: 0, crc32: 0 };
  for await (const part of createReadStream(file, { highWaterMark: READ_BYTES })) {
    found.bytes += (part as Buffer).length;
    found.crc32 = crc32(part as Buffer, found.crc32);
  }
  return found;
}

async function sync(files: readonly string[]): Promise<void> {
  for (const file of files) {
    const handle = await open(file, "r");
    try {
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
