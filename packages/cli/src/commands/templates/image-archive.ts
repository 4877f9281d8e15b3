// The archive of an image, on its way to a build. What is in it is the build's affair.

import { open } from "node:fs/promises";
import { Readable } from "node:stream";
import { CliError } from "../../errors/errors.ts";

export interface ImageArchive extends AsyncDisposable {
  readonly content: ReadableStream<Uint8Array>;
}

/** By how compressed files begin. */
const COMPRESSED: readonly (readonly [name: string, begin: string])[] = [
  ["gzip", "1f8b"],
  ["zstd", "28b52ffd"],
  ["xz", "fd377a58"],
  ["bzip2", "425a68"],
];
const BEGIN_BYTES = 4;

/** Throws where it is no file, or compressed. */
export async function readImageArchive(file: string): Promise<ImageArchive> {
  const handle = await open(file);
  try {
    if (!(await handle.stat()).isFile()) throw new CliError("not_a_file", `${file} is no file.`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(BEGIN_BYTES), 0, BEGIN_BYTES, 0);
    const begin = buffer.subarray(0, bytesRead).toString("hex");
    const packer = COMPRESSED.find(([, bytes]) => begin.startsWith(bytes))?.[0];
    if (packer !== undefined)
      throw new CliError("archive_compressed", `${file} is compressed by ${packer}.`, {
        remediation: `Send the tar archive itself: \`${packer} -d\` makes it.`,
      });
    const stream = handle.createReadStream({ start: 0, autoClose: false });
    return {
      content: Readable.toWeb(stream) as ReadableStream<Uint8Array>,
      async [Symbol.asyncDispose]() {
        stream.destroy();
        await handle.close();
      },
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
