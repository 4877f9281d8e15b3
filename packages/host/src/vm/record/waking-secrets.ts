// Secrets of VMs that wake from a warm clone, in files of the machine's memory (tmpfs): their requests are answered
// before the guests have them, and a host process that starts in between finds them here. No disk has them.

import { constants, statfsSync } from "node:fs";
import { open, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import type { VmRecord } from "./record.ts";

/** Every user may write here, so a file counts only if this host's user has made it. */
const FOLDER = "/dev/shm";
const TMPFS_MAGIC = 0x01021994;

type Named = Pick<VmRecord, "id" | "execution_id" | "name">;
type Waking = Named & Pick<VmRecord, "waking">;
type Secrets = NonNullable<VmSpec["secrets"]>;

let inMemory: boolean | undefined;

/** Whether this machine has a place for them. Without one, a request is answered when its guest has its secrets. */
export function canKeepSecrets(): boolean {
  return (inMemory ??= isTmpfs(FOLDER));
}

function isTmpfs(folder: string): boolean {
  try {
    return statfsSync(folder).type === TMPFS_MAGIC;
  } catch {
    return false;
  }
}

/** Throws where the machine's memory is full, or where somebody else has made the file. */
export function keepSecrets(record: Named, secrets: Secrets): Promise<void> {
  return writeFile(fileOf(record), JSON.stringify(secrets), { mode: 0o600, flag: "wx" });
}

/** Throws where they are not there, or are another user's. */
export async function keptSecrets(record: Named): Promise<Secrets> {
  try {
    await using file = await open(fileOf(record), constants.O_RDONLY | constants.O_NOFOLLOW);
    if ((await file.stat()).uid !== process.getuid?.()) throw new Error("another user has made the file");
    return JSON.parse(await file.readFile("utf8")) as Secrets;
  } catch (error) {
    throw new Error("its secrets were lost with its host", { cause: error });
  }
}

export async function forgetSecrets(record: Waking): Promise<void> {
  if (record.waking?.has_secrets) await rm(fileOf(record), { force: true }).catch(() => undefined);
}

/** Removes those that no waking VM among these lacks: the host process ended after the guest had them. */
export async function forgetOthers(instance: string, vms: readonly Waking[]): Promise<void> {
  const lacking = vms.filter(({ waking }) => waking?.has_secrets).map(fileOf);
  for (const name of await readdir(FOLDER).catch(() => []))
    if (name.startsWith(`${instance}:`) && !lacking.includes(join(FOLDER, name)))
      await rm(join(FOLDER, name), { force: true });
}

/** The process of a VM begins its name with the instance of its host; the rest is another one's where a clone was replaced. */
function fileOf({ id, execution_id, name }: Named): string {
  return join(FOLDER, `${name.split(":")[0]}:${id}:${execution_id}`);
}
