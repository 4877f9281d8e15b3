// The layers that an arriving disk is based on and that this host does not have: asked of the source, and
// received within what the order allows.

import type { Readable } from "node:stream";
import { SkerryError } from "@skerry/contract/errors";
import type { VmManifest } from "@skerry/contract/host-api/move-calls";
import type { TemplateLibrary } from "../templates/library.ts";
import { withinDiskReserve } from "../vm/disk/disk-reserve.ts";
import type { BackingFiles } from "../vm/disk/backing-files.ts";
import { fileMibOf } from "../vm/record/vm-resources.ts";
import type { Layers } from "../vm/disk/layers.ts";

type Manifest = Pick<VmManifest, "template" | "below" | "disk_gib">;

interface LayerReceiverOptions {
  readonly library: TemplateLibrary;
  readonly layers: Layers;
  readonly vmsFolder: string;
}

const MIB = 1024 ** 2;

export class LayerReceiver {
  readonly #options: LayerReceiverOptions;
  readonly #asked = new Map<
    string,
    { readonly came: PromiseWithResolvers<void>; readonly maxBytes: number }
  >();
  readonly #missing = new Set<string>();

  constructor(options: LayerReceiverOptions) {
    this.#options = options;
  }

  /** Resolves with the digests of the layers that have to be sent; they are received from now on. */
  async ask({ template, below, disk_gib: diskGib }: Manifest): Promise<string[]> {
    const { library, layers } = this.#options;
    const own = await library.disks(template);
    const needed = [
      { digest: below.root_image, own: own.root_image },
      ...(below.layers ?? []).map((digest) => ({ digest, own: [] })),
      { digest: below.frozen_disk, own: own.frozen_disk },
    ];
    for (const { digest, own: files } of needed) {
      if (this.#asked.has(digest) || (await layers.find(digest, files)) !== undefined) continue;
      const came = Promise.withResolvers<void>();
      came.promise.catch(() => undefined); // `files` gets the error
      this.#asked.set(digest, { came, maxBytes: fileMibOf(diskGib) * MIB });
      this.#missing.add(digest);
    }
    return [...this.#asked.keys()];
  }

  async receive(digest: string, content: Readable): Promise<void> {
    const { layers, vmsFolder } = this.#options;
    const asked = this.#asked.get(digest);
    if (asked === undefined) throw new SkerryError("move_refused", "This host has not asked for this layer.");
    const { came, maxBytes } = asked;
    try {
      await layers.receive({ digest, maxBytes }, withinDiskReserve(vmsFolder, content));
      this.#missing.delete(digest);
      came.resolve();
    } catch (error) {
      came.reject(error);
      throw error;
    }
  }

  /** Throws unless all layers that were asked for have come. */
  checkAllCame(): void {
    const [digest] = this.#missing;
    if (digest !== undefined)
      throw new SkerryError(
        "move_refused",
        `The layer ${digest} has not come, which this host has asked for.`,
      );
  }

  /** Resolves with the files of all layers when those that were asked for have come. */
  async files({ template, below, disk_gib }: Manifest): Promise<BackingFiles> {
    const { library, layers } = this.#options;
    for (const { came } of this.#asked.values()) await came.promise;
    const own = await library.disks(template);
    const file = async (digest: string, files: readonly string[]): Promise<string> => {
      const found = await layers.find(digest, files);
      if (found === undefined) throw new Error(`a layer has gone: ${digest}`);
      return found;
    };
    return {
      root_image: await file(below.root_image, own.root_image),
      ...(below.layers === undefined
        ? {}
        : { layers: await Promise.all(below.layers.map((digest) => file(digest, []))), disk_gib }),
      frozen_disk: await file(below.frozen_disk, own.frozen_disk),
    };
  }
}
