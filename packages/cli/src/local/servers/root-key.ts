// The file with the keys that stand above all that control seals. Control's group reads it, and root alone changes it: a control plane that
// is made to write files cannot lose it.

import { randomUUID } from "node:crypto";
import { chmod, chown, link, mkdir, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import {
  formatRootKeys,
  newRootKey,
  parseRootKeys,
  type RootKey,
} from "@skerry/contract/sealing/root-key-file";
import { CliError } from "../../errors/errors.ts";
import { printable } from "../../output/output.ts";
import { fileExists } from "../system/files.ts";
import type { Layout } from "../system/layout.ts";
import type { SystemUser } from "../system/system-user.ts";

const FILE_MODE = 0o440;
const FOLDER_MODE = 0o750;

/** Makes it unless it is there: at the first start. After a restore none is made: the backup's own has to be brought. */
export async function ensureRootKey(layout: Layout, user: SystemUser): Promise<void> {
  const { rootKeyFile: file } = layout;
  if (await fileExists(file)) return takeFromUser(file, user);
  if (await fileExists(awaitedFile(file))) return;
  await placeRootKeys(layout, [newRootKey()], user);
}

/** Is there where a restored database needs keys that the file has to have. Says in words which. */
export function awaitedFile(rootKeyFile: string): string {
  return `${rootKeyFile}.awaited`;
}

export async function awaitRootKey(
  { rootKeyFile: file }: Layout,
  ids: readonly string[],
  { gid }: SystemUser,
): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: FOLDER_MODE });
  await chown(dirname(file), 0, gid);
  const text = `Put the root key file of the backup here as ${file}: with the keys ${printable(ids.join(", "))}.
`;
  await writeFile(awaitedFile(file), text, { mode: 0o644 });
}

/** Puts a copy of the file in its place, unless there is one. */
export async function placeRootKeys(
  { rootKeyFile: file }: Layout,
  keys: readonly RootKey[],
  user: SystemUser,
): Promise<void> {
  await makeFolder(dirname(file), user);
  await placeFile(file, keys, user);
}

async function makeFolder(folder: string, { gid }: SystemUser): Promise<void> {
  if (await fileExists(folder)) return;
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  await chown(folder, 0, gid);
}

/** A link is never made over a file: of two that start at the same time the first one's key counts. */
async function placeFile(file: string, keys: readonly RootKey[], user: SystemUser): Promise<void> {
  const written = await writeBeside(file, formatRootKeys(keys), user);
  try {
    await link(written, file);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
  } finally {
    await rm(written, { force: true });
  }
  await syncFolder(dirname(file));
}

/** Earlier versions gave it to control's user, who could have written to it. */
async function takeFromUser(file: string, { uid, gid }: SystemUser): Promise<void> {
  await rm(awaitedFile(file), { force: true });
  const { uid: owner } = await stat(file);
  if (owner !== uid) return;
  await chown(file, 0, gid);
  await chmod(file, FILE_MODE);
}

/** None where the file is missing or broken. */
export function idsOfRootKeys(layout: Layout): Promise<readonly string[]> {
  return readRootKeys(layout).then(
    (keys) => keys.map(({ id }) => id),
    () => [],
  );
}

/** Throws `secrets_unavailable`. */
export async function readRootKeys({
  rootKeyFile: file,
}: Pick<Layout, "rootKeyFile">): Promise<readonly RootKey[]> {
  try {
    return parseRootKeys(await readFile(file, "utf8"));
  } catch (error) {
    throw new CliError(
      "secrets_unavailable",
      `The root key file ${file} cannot be read: ${(error as Error).message}.`,
      { remediation: "Put a copy of it there, which control's user can read." },
    );
  }
}

/** The name of a file in the same folder. */
export async function writeBeside(
  file: string,
  text: string,
  { gid }: Pick<SystemUser, "gid">,
): Promise<string> {
  const written = `${file}.${randomUUID()}`;
  await using handle = await open(written, "wx", FILE_MODE);
  await handle.writeFile(text);
  await handle.chown(0, gid);
  // The mask of this process may have taken bits of the mode away.
  await handle.chmod(FILE_MODE);
  await handle.sync();
  return written;
}

export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder);
  await handle.sync();
}
