// A qcow2 layer was written by a QEMU that its guest may have taken over. What its header may not say is that a part of the disk lies in another
// file: the files of a disk are named on QEMU's command line, all of them.

import { open } from "node:fs/promises";
import { SkerryError } from "@skerry/contract/errors";

const HEADER_BYTES = 104;
const MAGIC = 0x5146_49fb;
const VERSION = 3;
/** How long the name of a file below is; 0 for none. */
const BACKING_BYTES_AT = 16;
const CRYPT_AT = 32;
const INCOMPATIBLE_AT = 72;
/** Written to and not closed: its counters may be wrong, which no reader uses. */
const DIRTY = 1n;

/** Throws `bad_request` for what is no layer of a disk. */
export async function checkLayer(file: string): Promise<void> {
  const header = Buffer.alloc(HEADER_BYTES);
  await using handle = await open(file, "r");
  await handle.read(header, 0, HEADER_BYTES, 0);
  const isPlain =
    header.readUInt32BE(0) === MAGIC &&
    header.readUInt32BE(4) === VERSION &&
    header.readUInt32BE(BACKING_BYTES_AT) === 0 &&
    header.readUInt32BE(CRYPT_AT) === 0 &&
    (header.readBigUInt64BE(INCOMPATIBLE_AT) & ~DIRTY) === 0n;
  if (!isPlain) throw new SkerryError("bad_request", "A layer of the image is no layer of a disk.");
}
