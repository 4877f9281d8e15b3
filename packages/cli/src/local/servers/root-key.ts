// The file with the keys that stand above all that control seals. Control's user alone reads it, and root alone changes it: a control plane that
// is made to write files cannot lose it.

import { randomUUID } from "node:crypto";
import { chown, link, mkdir, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { formatRootKeys, newRootKey } from "@skerry/contract/sealing/root-key-file";
import { fileExists } from "../system/files.ts";
import type { Layout } from "../system/layout.ts";
import type { SystemUser } from "../system/system-user.ts";

const FILE_MODE = 0o400;
const FOLDER_MODE = 0o750;

/** Makes it unless it is there: at the first start. */
export async function ensureRootKey(layout: Layout, user: SystemUser): Promise<void> {
  const { rootKeyFile: file } = layout;
  if (await fileExists(file)) return;
  const folder = dirname(file);
  if (!(await fileExists(folder))) {
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
    await chown(folder, 0, user.gid);
  }
  const written = await writeBeside(file, formatRootKeys([newRootKey()]), user);
  try {
    // A link is never made over a file: of two that start at the same time the first one's key counts.
    await link(written, file);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
  } finally {
    await rm(written, { force: true });
  }
  await syncFolder(folder);
}

/** The name of a file in the same folder. */
export async function writeBeside(file: string, text: string, { uid, gid }: SystemUser): Promise<string> {
  const written = `${file}.${randomUUID()}`;
  await using handle = await open(written, "wx", FILE_MODE);
  await handle.writeFile(text);
  await handle.chown(uid, gid);
  await handle.sync();
  return written;
}

export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder);
  await handle.sync();
}
