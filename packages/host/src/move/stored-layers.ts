// Layers on their way to an object store, and from there. One at a time in each direction, so that what is in memory is some pieces, however many
// layers control asks for.

import { SkerryError } from "@skerry/contract/errors";
import {
  FETCH_LAYER_WITHIN_MS,
  PIECE_BYTES,
  STORE_LAYER_WITHIN_MS,
  type FetchLayer,
  type StoredPieces,
  type StoreLayer,
} from "@skerry/contract/host-api/stored-layers";
import { LayerFault } from "../vm/disk/layer-stream.ts";
import type { Layers } from "../vm/disk/layers.ts";
import type { OwnTemplates } from "../templates/own-templates.ts";
import type { TemplateLibrary } from "../templates/library.ts";
import {
  ANSWER_DEADLINE_MS,
  damaged,
  getObject,
  putObject,
  unavailable,
  type GetObject,
} from "./object-calls.ts";
import { openPiece, piecesOf, SEAL_BYTES, sealPiece } from "./sealed-pieces.ts";

/** After a layer did not come because the store cannot be used. Those that wait meanwhile come from other hosts at once, where those have them. */
const PAUSE_MS = 10_000;

interface StoredLayersOptions {
  readonly own: Pick<OwnTemplates, "keepLayer">;
  readonly library: Pick<TemplateLibrary, "images">;
  readonly layers: Pick<Layers, "find" | "read">;
  /** Deadline of an object without progress. */
  readonly withinMs?: number;
}

export class StoredLayers {
  readonly #options: StoredLayersOptions;
  readonly #storing = new OneAtATime();
  readonly #fetching = new OneAtATime();
  #pausedUntilMs = -Infinity;

  constructor(options: StoredLayersOptions) {
    this.#options = options;
  }

  /** Throws `layer_missing`, `object_store_unavailable`. Ends when its caller leaves. */
  store(order: StoreLayer, left: AbortSignal): Promise<StoredPieces> {
    const stop = AbortSignal.any([left, AbortSignal.timeout(STORE_LAYER_WITHIN_MS)]);
    return this.#storing.run(stop, () => this.#store(order, stop));
  }

  /** Throws `stored_layer_damaged`, `object_store_unavailable`, `no_capacity` where the disk is nearly full, and `template_not_found` where no template
   *  here waits for it. Ends when its caller leaves. */
  fetch(order: FetchLayer, left: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([left, AbortSignal.timeout(FETCH_LAYER_WITHIN_MS)]);
    return this.#fetching.run(stop, () => this.#fetch(order, stop));
  }

  async #store({ digest, object, key, first, urls }: StoreLayer, stop: AbortSignal): Promise<StoredPieces> {
    const { layers, library } = this.#options;
    const file = await layers.find(digest, await library.images());
    if (file === undefined)
      throw new SkerryError("layer_missing", "The layer is not on this host.", { context: { digest } });
    const seal = { key: Buffer.from(key, "hex"), object };
    for await (const { index, isLast, bytes } of piecesOf(layers.read(file), PIECE_BYTES)) {
      stop.throwIfAborted();
      if (index < first) continue;
      const url = urls[index - first];
      if (url === undefined) return { pieces: index, whole: false };
      await putObject(url, sealPiece({ ...seal, index, isLast }, bytes), stop);
      if (isLast) return { pieces: index + 1, whole: true };
    }
    throw new SkerryError("bad_request", "The layer has no such piece.");
  }

  async #fetch({ template, digest, object, key, urls }: FetchLayer, stop: AbortSignal): Promise<void> {
    if (performance.now() < this.#pausedUntilMs) throw unavailable("It could not be used a moment ago.");
    try {
      const { own, withinMs = ANSWER_DEADLINE_MS } = this.#options;
      await own.keepLayer(template, digest, opened({ object, key, urls }, { withinMs, stop }));
    } catch (error) {
      if (error instanceof LayerFault) throw damaged(error.message, error);
      if (error instanceof SkerryError && error.code === "object_store_unavailable")
        this.#pausedUntilMs = performance.now() + PAUSE_MS;
      throw error;
    }
  }
}

/** The layer's stream. */
async function* opened(
  { object, key, urls }: Pick<FetchLayer, "object" | "key" | "urls">,
  how: Pick<GetObject, "withinMs" | "stop">,
): AsyncGenerator<Buffer> {
  const seal = { key: Buffer.from(key, "hex"), object };
  for (const [index, url] of urls.entries()) {
    const sealed = await getObject(url, { ...how, maxBytes: PIECE_BYTES + SEAL_BYTES });
    try {
      yield openPiece({ ...seal, index, isLast: index === urls.length - 1 }, sealed);
    } catch (error) {
      throw damaged("a piece of the layer has changed", error);
    }
  }
}

class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  /** `work` is not begun where `stop` was aborted while it waited. */
  run<T>(stop: AbortSignal, work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(() => {
      stop.throwIfAborted();
      return work();
    });
    this.#last = done.catch(() => undefined);
    return done;
  }
}
