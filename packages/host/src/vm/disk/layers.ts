// The base files of disks by digest: files of this host's built-in templates, layers that builds here have made, and layers that came from
// other hosts. Two hosts build a template with different bytes, so a moving VM brings its layers along; later VMs with the same layers use
// them too.

import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { VmManifest } from "@skerry/contract/host-api/move-calls";
import type { DiskLayer } from "@skerry/contract/host-api/templates";
import { CLOSED_MODE } from "../../system/closed-folders.ts";
import { syncFolder } from "../../system/sync-folder.ts";
import type { BackingFiles } from "./backing-files.ts";
import { emptyLayer, layerDigest, layerStream, writeLayer, type LayerClaim } from "./layer-stream.ts";

const PART = ".part";
const LAYER_NAME = /^([0-9a-f]{64})\.layer$/;
const GIB = 1024 ** 3;
/** What `stat` counts in. */
const SECTOR_BYTES = 512;

export class Layers {
  readonly #folder: string;
  /** Of other files. Such a file is never written to, but another one may replace it. */
  readonly #digests = new Map<string, { readonly stamp: string; readonly digest: Promise<string> }>();
  readonly #dataRanges: string;

  constructor(folder: string, dataRanges: string) {
    this.#folder = folder;
    this.#dataRanges = dataRanges;
  }

  /** The content of a file, as `receive` takes it. */
  read(file: string): AsyncGenerator<Buffer> {
    return layerStream(file, this.#dataRanges);
  }

  /** Of a layer its name says it. Of another file it takes as long as reading it, the first time. */
  async digestOf(file: string): Promise<string> {
    const { size, mtimeMs, ino } = await stat(file);
    const [, named] = LAYER_NAME.exec(basename(file)) ?? [];
    if (named !== undefined && this.pathOf(named) === file) return named;
    const stamp = `${ino}:${size}:${mtimeMs}`;
    const known = this.#digests.get(file);
    if (known?.stamp === stamp) return known.digest;
    const found = { stamp, digest: layerDigest(file, this.#dataRanges) };
    this.#digests.set(file, found);
    found.digest.catch(() => this.#digests.get(file) === found && this.#digests.delete(file));
    return found.digest;
  }

  async digestsBelow({ root_image, layers, frozen_disk }: BackingFiles): Promise<VmManifest["below"]> {
    const digests = (files: readonly string[]): Promise<string[]> =>
      Promise.all(files.map((file) => this.digestOf(file)));
    return {
      root_image: await this.digestOf(root_image),
      ...(layers === undefined ? {} : { layers: await digests(layers) }),
      frozen_disk: await this.digestOf(frozen_disk),
    };
  }

  /** The file with this content: one that came from elsewhere, or one of `own`. */
  async find(digest: string, own: readonly string[]): Promise<string | undefined> {
    const received = this.pathOf(digest);
    if (await exists(received)) {
      await utimes(received, new Date(), new Date());
      return received;
    }
    for (const file of own) if ((await exists(file)) && (await this.digestOf(file)) === digest) return file;
    return undefined;
  }

  /** A raw image of zeros of this size, which takes no room. */
  async empty(diskGib: number): Promise<DiskLayer> {
    return this.keep(emptyLayer(diskGib * GIB), diskGib * GIB);
  }

  async describe(file: string): Promise<DiskLayer> {
    return { digest: await this.digestOf(file), bytes: await bytesOf(file) };
  }

  /** Where the layer with this digest is, if it is here. */
  pathOf(digest: string): string {
    return layerFile(this.#folder, digest);
  }

  /** The file appears whole or not at all, and outlasts a loss of power, because its source may remove its own
   *  then. Two sources may send the same layer at the same time. */
  async receive(
    claim: LayerClaim & { readonly digest: string },
    content: AsyncIterable<Uint8Array>,
  ): Promise<string> {
    return (await this.#write(claim, content)).file;
  }

  /** What was made on this host. The same content twice is one layer. */
  async keep(content: AsyncIterable<Uint8Array>, maxBytes: number): Promise<DiskLayer> {
    const { digest, file } = await this.#write({ maxBytes }, content);
    return { digest, bytes: await bytesOf(file) };
  }

  async #write(
    claim: LayerClaim,
    content: AsyncIterable<Uint8Array>,
  ): Promise<{ readonly digest: string; readonly file: string }> {
    await mkdir(this.#folder, { recursive: true, mode: CLOSED_MODE });
    const part = join(this.#folder, `${randomBytes(8).toString("hex")}${PART}`);
    try {
      const digest = await writeLayer(part, claim, content);
      const file = this.pathOf(digest);
      await rename(part, file);
      for (const folder of [this.#folder, dirname(this.#folder)]) await syncFolder(folder);
      return { digest, file };
    } finally {
      await rm(part, { force: true });
    }
  }

  /** What no VM stands on, and what was cut off. What is wanted now was touched a moment ago. */
  async unused(needed: ReadonlySet<string>): Promise<string[]> {
    const names = await readdir(this.#folder).catch(() => [] as string[]);
    return names.map((name) => join(this.#folder, name)).filter((file) => !needed.has(file));
  }
}

export function layerFile(folder: string, digest: string): string {
  return join(folder, `${digest}.layer`);
}

/** What it takes on the disk. */
async function bytesOf(file: string): Promise<number> {
  return (await stat(file)).blocks * SECTOR_BYTES;
}

function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
