import { stat } from "node:fs/promises";
import { dirname } from "node:path";

/** Rejects where the disk or a permission keeps it from being known: what is not known to be missing must not be made anew. */
export async function fileExists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return false;
      throw error;
    },
  );
}

/** Which folder it is, under any path: moved on its file system it is the same one, and a copy of it is another. */
export async function folderIdentity(path: string): Promise<string> {
  const { dev, ino } = await stat(path);
  return `${dev}:${ino}`;
}

/** The folder itself, or the nearest one above it that is there. */
export async function nearestFolder(path: string): Promise<string> {
  let folder = path;
  // A folder that this user may not enter is as good as none: the check is about those above it.
  while (!(await fileExists(folder).catch(() => false))) folder = dirname(folder);
  return folder;
}
