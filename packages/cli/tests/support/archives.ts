// Archives, and where they are unpacked.

import { extractTree, type Extracted, type ExtractOptions } from "../../src/commands/copy/extract-tree.ts";
import { readTar } from "../../src/commands/copy/tar-reader.ts";

async function* chunksOf(data: Uint8Array, size = data.length): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size);
}

export interface Planted {
  readonly name: string;
  readonly type?: string;
  readonly target?: string;
  readonly content?: string | Buffer;
  readonly mode?: number;
  /** What its header says, where it lies. */
  readonly bytes?: number;
}

/** An archive that no tar would make. */
export function archive(...entries: readonly Planted[]): Buffer {
  const blocks = entries.flatMap(({ name, type = "0", target = "", content = "", mode = 0o644, bytes }) => {
    const data = Buffer.from(content);
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write(`${mode.toString(8).padStart(7, "0")}\0`, 100);
    header.write(`${(bytes ?? data.length).toString(8).padStart(11, "0")}\0`, 124);
    header.write("00000000000\0", 136);
    header.write("        ", 148);
    header.write(type, 156);
    header.write(target, 157);
    header.write("ustar  \0", 257);
    header.write(
      `${header
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, "0")}\0 `,
      148,
    );
    return [header, data, Buffer.alloc((512 - (data.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1_024)]);
}

const whole: Omit<ExtractOptions, "folder"> = {
  sourceName: undefined,
  name: undefined,
  isOneFile: false,
  maxBytes: undefined,
  onProgress: () => undefined,
};

/** In chunks of this size, or as one. */
export function extract(
  data: Uint8Array,
  options: Partial<ExtractOptions> & { readonly folder: string },
  chunkBytes?: number,
): Promise<Extracted> {
  return extractTree(readTar(chunksOf(data, chunkBytes)), { ...whole, ...options });
}
