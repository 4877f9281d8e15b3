// Secrets of VMs in files of the machine's memory (tmpfs), for a host process that starts after this one. A VM that wakes from a warm clone has a file until its guest has them, because its request is answered before. A VM whose requests get secrets on their way has one as long as it runs. No disk has them.

import { constants, statfsSync } from "node:fs";
import { open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import type { HostEgress } from "@skerry/contract/vms/egress";
import { Injection } from "@skerry/contract/vms/inject";
import { Compile } from "typebox/compile";

/** Every user may write here, so a file counts only if this host's user has made it. */
const FOLDER = "/dev/shm";
const TMPFS_MAGIC = 0x01021994;

/** These are parts of the VM's record. */
interface Named {
  readonly id: string;
  readonly execution_id: string;
  readonly name: string;
}
interface Waking extends Named {
  readonly waking?: { readonly has_secrets?: true };
}
interface Governed extends Named {
  readonly egress: HostEgress;
}

type Secrets = NonNullable<VmSpec["secrets"]>;

const injectionShape = Compile(Injection);

let inMemory: boolean | undefined;

/**
 * Whether this machine has a place for them. Without one, a request is answered when its guest has its
 * secrets.
 */
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

/** Throws where the machine's memory is full, or where another user has made the file. */
export function keepSecrets(record: Named, secrets: Secrets): Promise<void> {
  return writeFile(fileOf(record), JSON.stringify(secrets), { mode: 0o600, flag: "wx" });
}

/** Throws where they are not there, or are another user's. */
export async function keptSecrets(record: Named): Promise<Secrets> {
  try {
    return (await readOwn(fileOf(record))) as Secrets;
  } catch (error) {
    throw new Error("its secrets were lost with its host", { cause: error });
  }
}

export async function forgetSecrets(record: Waking): Promise<void> {
  if (record.waking?.has_secrets) await rm(fileOf(record), { force: true }).catch(() => undefined);
}

/**
 * Replaces the file whole. Without a place for it, requests lack their secrets after the next start of the
 * host.
 */
export async function keepInjection(record: Governed): Promise<void> {
  const { injection } = record.egress;
  if (injection === undefined || !canKeepSecrets()) return;
  const file = injectionFileOf(record);
  const part = `${file}:part`;
  // Another user may have made it.
  await rm(part, { force: true, recursive: true });
  await writeFile(part, JSON.stringify(injection), { mode: 0o600, flag: "wx" });
  await rename(part, file);
}

/**
 * The record with what was kept of it. Where nothing was, requests are refused until control tells it again.
 */
export async function withInjection<Known extends Governed>(record: Known): Promise<Known> {
  if (record.egress.inject === undefined) return record;
  const injection = await readOwn(injectionFileOf(record)).catch(() => undefined);
  return injectionShape.Check(injection) ? { ...record, egress: { ...record.egress, injection } } : record;
}

/** Also of a VM whose policy had rules once. */
export async function forgetInjection(record: Named): Promise<void> {
  await rm(injectionFileOf(record), { force: true, recursive: true }).catch(() => undefined);
}

/**
 * Removes all but those of these VMs that are needed: the host process ended after the guest had them, or the
 * VM has gone. `unknown`: ids of VMs whose records this host does not understand, of which all stay.
 */
export async function forgetOthers(
  instance: string,
  vms: readonly (Waking & Governed)[],
  unknown: readonly string[] = [],
): Promise<void> {
  const needed = new Set([
    ...vms.filter(({ waking }) => waking?.has_secrets).map(fileOf),
    ...vms.filter(({ egress }) => egress.inject !== undefined).map(injectionFileOf),
  ]);
  for (const name of await readdir(FOLDER).catch(() => []))
    if (
      name.startsWith(`${instance}:`) &&
      !needed.has(join(FOLDER, name)) &&
      !unknown.includes(name.split(":")[1] ?? "")
    )
      await rm(join(FOLDER, name), { force: true });
}

async function readOwn(path: string): Promise<unknown> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  if ((await file.stat()).uid !== process.getuid?.()) throw new Error("another user has made the file");
  return JSON.parse(await file.readFile("utf8"));
}

function injectionFileOf(record: Named): string {
  return `${fileOf(record)}:injected`;
}

/**
 * The process of a VM begins its name with the instance of its host; the rest is another one's where a clone
 * was replaced.
 */
function fileOf({ id, execution_id, name }: Named): string {
  return join(FOLDER, `${name.split(":")[0]}:${id}:${execution_id}`);
}
