// The target's side of one move of a saved guest. Its files lie beside their place until all are here and are what was sent; then one rename makes
// them a saved guest of this host.

import { createHash, timingSafeEqual } from "node:crypto";
import { mkdir, open, rm, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { crc32 } from "node:zlib";
import { SkerryError } from "@skerry/contract/errors";
import type { ArrivalNeeds } from "@skerry/contract/host-api/move-calls";
import type {
  SavedArrivalOrder,
  SavedFile,
  SavedFileName,
  SavedFiles,
} from "@skerry/contract/host-api/saved-moves";
import { savedFileNames } from "@skerry/contract/host-api/saved-moves";
import type { Size } from "@skerry/contract/sizes";
import type { TemplateLibrary } from "../templates/library.ts";
import { checkDiskReserve, withinDiskReserve } from "../vm/disk/disk-reserve.ts";
import { vmPaths } from "../vm/qemu/qemu-arguments.ts";
import { savedPaths, writeSaved, type SavedGuest } from "../vm/saved/saved-guest.ts";
import { fileMibOf } from "../vm/record/vm-resources.ts";
import { LayerReceiver } from "./layer-receiver.ts";
import type { Layers } from "../vm/disk/layers.ts";
import { SyncedWriter } from "../vm/disk/synced-writer.ts";
import { pagesFileMaxBytes } from "./whole-memory.ts";

export interface SavedArrivalOptions {
  readonly library: TemplateLibrary;
  readonly layers: Layers;
  readonly order: SavedArrivalOrder;
  readonly size: Size;
  /** Folder of its files until all are here, and of nothing else. It is removed where the arrival fails, and when a host starts. */
  readonly part: string;
  /** Puts the folder into its place. */
  readonly keep: (saved: SavedGuest) => Promise<void>;
}

const MIB = 1024 * 1024;
/** The state of a guest's CPUs and devices is a thousandth of that. */
const STATE_MAX_BYTES = 64 * MIB;
/** An arrival that nothing uses was given up by a control plane that could not tell this host. */
const ABANDONED_AFTER_MS = 10 * 60_000;

export const savedFilePaths: Readonly<Record<SavedFileName, string>> = {
  memory: savedPaths.memory,
  state: savedPaths.state,
  disk: vmPaths.disk,
};

export class SavedArrival {
  readonly #options: SavedArrivalOptions;
  readonly #layers: LayerReceiver;
  readonly #needs: Promise<ArrivalNeeds>;
  readonly #whole = Promise.withResolvers<void>();
  /** Aborts when the arrival has ended: nothing more is received. */
  readonly #over = new AbortController();
  /** The layers and files for which the ticket was used. */
  readonly #taken = new Set<string>();
  readonly #came: Partial<Record<SavedFileName, SavedFile>> = {};
  readonly #work = new Set<Promise<unknown>>();
  #abandoned: NodeJS.Timeout | undefined;

  constructor(options: SavedArrivalOptions) {
    this.#options = options;
    this.#layers = new LayerReceiver({ ...options, vmsFolder: options.part });
    this.#whole.promise.catch(() => undefined); // each caller that awaits it gets the error
    this.#needs = this.#begin();
    this.#needs.catch(() => undefined); // each caller that awaits it gets the error
  }

  get moveId(): string {
    return this.#options.order.move_id;
  }

  get needs(): Promise<ArrivalNeeds> {
    return this.#needs;
  }

  /** Resolves when all of it is here; rejects when it has been given up. */
  get whole(): Promise<void> {
    return this.#whole.promise;
  }

  /** Throws unless `ticket` is this move's and is used for `what` for the first time. */
  admit(what: string, ticket: string | undefined): void {
    const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
    const isKnown = timingSafeEqual(digest(this.#options.order.ticket), digest(ticket ?? ""));
    if (!isKnown || this.#taken.has(what))
      throw new SkerryError("forbidden", "The ticket is not good for this.");
    this.#taken.add(what);
  }

  /** Call `admit` first. */
  receiveLayer(digest: string, content: Readable): Promise<void> {
    return this.#during(() => this.#layers.receive(digest, addAbortSignal(this.#over.signal, content)));
  }

  /** Call `admit` first. Resolves when it is on the disk. */
  receiveFile(name: SavedFileName, content: Readable): Promise<SavedFile> {
    return this.#during(async () => {
      await this.#needs;
      const { part } = this.#options;
      const bytes = addAbortSignal(this.#over.signal, content);
      await using file = await open(join(part, savedFilePaths[name]), "wx", 0o600);
      const came = await write(file, withinDiskReserve(part, bytes), this.#maxBytes(name));
      this.#came[name] = came;
      return came;
    });
  }

  /** Call `admit` first. `files`: what the source says that it has sent. */
  seal(files: SavedFiles): Promise<void> {
    return this.#during(async () => {
      const { order, keep, part } = this.#options;
      for (const name of savedFileNames) {
        const [came, sent] = [this.#came[name], files[name]];
        if (came?.bytes === sent.bytes && came.crc32 === sent.crc32) continue;
        throw new SkerryError("move_refused", `What came as the file "${name}" is not what was sent.`);
      }
      this.#layers.checkAllCame(); // a source that never sends one could otherwise make this wait without end
      const { vm_id, template, size, saved_at, runs_on } = order.manifest;
      const { memory, state, disk } = files;
      const saved: SavedGuest = {
        ...{ format: 1, vm_id, template, size, saved_at, runs_on, memory_of: "own" },
        below: await this.#layers.files(order.manifest),
        // What is paused is changed where it lies as soon as it goes on.
        files: { memory, state, ...(order.paused === undefined ? { disk } : {}) },
        move_id: order.move_id,
      };
      this.#over.signal.throwIfAborted();
      await writeSaved(part, saved);
      await keep(saved);
      this.#whole.resolve();
      this.#over.abort(new SkerryError("forbidden", "All of it is here."));
    });
  }

  /** Resolves when nothing is received any more and nothing of it is left, but for what is whole. */
  async giveUp(): Promise<void> {
    clearTimeout(this.#abandoned);
    const why = new SkerryError("move_failed", "The move was given up.");
    this.#over.abort(why);
    await Promise.allSettled([this.#needs, ...this.#work]);
    this.#whole.reject(why);
    await rm(this.#options.part, { recursive: true, force: true });
  }

  async #begin(): Promise<ArrivalNeeds> {
    const { part, order } = this.#options;
    await checkDiskReserve(dirname(part));
    await mkdir(part, { mode: 0o700 });
    this.#watch();
    return { layers: await this.#layers.ask(order.manifest) };
  }

  async #during<T>(work: () => Promise<T>): Promise<T> {
    this.#over.signal.throwIfAborted();
    clearTimeout(this.#abandoned);
    const done = work();
    this.#work.add(done);
    try {
      return await done;
    } finally {
      this.#work.delete(done);
      this.#watch();
    }
  }

  #watch(): void {
    clearTimeout(this.#abandoned);
    if (this.#over.signal.aborted) return;
    this.#abandoned = setTimeout(() => void this.giveUp(), ABANDONED_AFTER_MS).unref();
  }

  #maxBytes(name: SavedFileName): number {
    const { order, size } = this.#options;
    if (name === "memory") return pagesFileMaxBytes(size.memory_mib * MIB);
    return name === "disk" ? fileMibOf(order.manifest.disk_gib) * MIB : STATE_MAX_BYTES;
  }
}

/** What is zero stays a hole. */
async function write(
  file: FileHandle,
  content: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<SavedFile> {
  const came = { bytes: 0, crc32: 0 };
  const writer = new SyncedWriter(file);
  for await (const part of content) {
    if (came.bytes + part.length > maxBytes)
      throw new SkerryError("move_refused", "A file of what arrives is too large.");
    came.crc32 = crc32(part, came.crc32);
    if (part.some((byte) => byte !== 0)) await writer.write(part, came.bytes);
    came.bytes += part.length;
  }
  await file.truncate(came.bytes);
  await writer.end();
  return came;
}
