// The base files of disks by digest: files of this host's own templates, and layers that came with VMs from
// other hosts. Two hosts build a template with different bytes, so a moving VM brings its layers along; later
// VMs with the same layers use them too.

import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncFolder } from "../vm/record.ts";
import { layerDigest, layerStream, writeLayer, type LayerClaim } from "./layer-stream.ts";

const PART = ".part";

export class Layers {
  readonly #folder: string;
  /** By path, size and time of change: such a file is never written to, but another file may replace it. */
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

  /** The file appears whole or not at all, and outlasts a loss of power, because its source may remove its own
   *  then. Two sources may send the same layer at the same time. */
  async receive(claim: LayerClaim, content: AsyncIterable<Uint8Array>): Promise<string> {
    await mkdir(this.#folder, { recursive: true, mode: 0o711 });
    const file = this.#fileOf(claim.digest);
    const part = `${file}-${randomBytes(4).toString("hex")}${PART}`;
    try {
      await writeLayer(part, claim, content);
      await rename(part, file);
      for (const folder of [this.#folder, dirname(this.#folder)]) await syncFolder(folder);
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
