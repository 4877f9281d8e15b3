import { stat } from "node:fs/promises";

/** Rejects where the disk or a permission keeps it from being known: what is not known to be missing must not be made anew. */
export async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return false;
      throw error;
    },
  );
}
