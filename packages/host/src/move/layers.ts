// What disks stand on, by content: files of this host's own templates, and those that came with VMs from other hosts. A template that two
// hosts have built apart differs byte for byte, so a VM that moves brings its own along, once for all that come with it.

import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { layerDigest, layerStream, writeLayer, type LayerClaim } from "./layer-stream.ts";

const PART = ".part";

export class Layers {
  readonly #folder: string;
  /** By path, size and time of change: nobody writes to such a file, but its place may be taken by another one. */
  readonly #digests = new Map<string, Promise<string>>();

  readonly #dataRanges: string;

  constructor(folder: string, dataRanges: string) {
    this.#folder = folder;
    this.#dataRanges = dataRanges;
  }

  /** The content of a file, as `receive` takes it. */
  read(file: string): AsyncGenerator<Buffer> {
    return layerStream(file, this.#dataRanges);
  }

  /** Takes as long as reading the file, the first time. */
  async digestOf(file: string): Promise<string> {
    const { size, mtimeMs, ino } = await stat(file);
    const key = `${file}:${ino}:${size}:${mtimeMs}`;
    let digest = this.#digests.get(key);
    if (digest === undefined) {
      digest = layerDigest(file, this.#dataRanges);
      this.#digests.set(key, digest);
      digest.catch(() => this.#digests.delete(key));
    }
    return digest;
  }

  /** The file with this content: one that came from elsewhere, or one of `own`. */
  async find(digest: string, own: readonly string[]): Promise<string | undefined> {
    const received = this.#fileOf(digest);
    if (await exists(received)) {
      await utimes(received, new Date(), new Date());
      return received;
    }
    for (const file of own) if ((await exists(file)) && (await this.digestOf(file)) === digest) return file;
    return undefined;
  }

  /** It appears whole or not at all. Two that send the same one at the same time do not disturb each other. */
  async receive(claim: LayerClaim, content: AsyncIterable<Uint8Array>): Promise<string> {
    await mkdir(this.#folder, { recursive: true, mode: 0o711 });
    const file = this.#fileOf(claim.digest);
    const part = `${file}-${randomBytes(4).toString("hex")}${PART}`;
    try {
      await writeLayer(part, claim, content);
      await rename(part, file);
      return file;
    } finally {
      await rm(part, { force: true });
    }
  }

  /** Removes what no VM stands on and was last asked for before this time, and what was cut off. */
  async sweep(needed: ReadonlySet<string>, touchedBeforeMs: number): Promise<number> {
    const names = await readdir(this.#folder).catch(() => [] as string[]);
    let removed = 0;
    for (const file of names.map((name) => join(this.#folder, name))) {
      if (needed.has(file) || (await stat(file)).mtimeMs >= touchedBeforeMs) continue;
      await rm(file, { force: true });
      removed += 1;
    }
    return removed;
  }

  #fileOf(digest: string): string {
    return join(this.#folder, `${digest}.layer`);
  }
}

function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
