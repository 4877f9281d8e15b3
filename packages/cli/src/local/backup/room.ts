// Keeps a restore from filling the disk: a dump is compressed, and may hold a thousand times as many bytes as its file.

import { statfs } from "node:fs/promises";
import { CliError } from "../../errors/errors.ts";

const LOOK_EVERY_BYTES = 16 * 1024 * 1024;
/** Beside the database: its log, and all that others write. */
export const KEPT_FREE_BYTES = 1024 ** 3;

/** Passes it on, and throws once the disk has less than `KEPT_FREE_BYTES` left. */
export async function* whileThereIsRoom(
  rows: AsyncIterable<Buffer>,
  folder: string,
  freeBytes: (folder: string) => Promise<number> = freeBytesOf,
): AsyncGenerator<Buffer> {
  let sinceLook = 0;
  for await (const chunk of rows) {
    sinceLook += chunk.length;
    if (sinceLook >= LOOK_EVERY_BYTES) {
      sinceLook = 0;
      if ((await freeBytes(folder)) < KEPT_FREE_BYTES)
        throw new CliError(
          "disk_full",
          `The database of the backup is too large for the disk of ${folder}.`,
          {
            remediation: "Nothing of it was left there. Make room, or restore into another folder.",
          },
        );
    }
    yield chunk;
  }
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
