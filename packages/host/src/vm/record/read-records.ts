// Reads the records of VMs that an earlier host process has left. A record that cannot be read is told apart from one that is damaged and
// from one of a newer version, because files must stay wherever it is not known what they are.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { placedBackingFiles, placedFile, type BackingPlaces } from "../disk/backing-files.ts";
import { worksIn, type ProcessIdentity } from "../qemu/process.ts";
import { FORMAT, RECORD, recordShape, type BuildRecord, type VmRecord } from "./record.ts";

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
  const { format: _written, below, build, ...record } = value;
  return {
    kind: "mine",
    record: {
      ...record,
      ...identityOf({ ...record, process: record.process }, owner),
      folder,
      ...(below === undefined ? {} : { below: placedBackingFiles(below, owner.places) }),
      ...(build === undefined ? {} : { build: placedBuild(build, owner.places) }),
    },
    former: isOurs(value, owner) ? undefined : value.process,
  };
}

function placedBuild(build: BuildRecord, places: BackingPlaces): BuildRecord {
  const { root_image, layers } = build.target;
  const at = (file: string): string => placedFile(file, places);
  return { ...build, target: { root_image: at(root_image), layers: layers.map(at) } };
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
