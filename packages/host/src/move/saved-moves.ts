// Saved guests on their way to and from this host. The source reads files that nobody writes to, so it has no state of its own: it keeps them until control
// deletes them, however a move ends.

import { createReadStream } from "node:fs";
import { chmod, rename } from "node:fs/promises";
import { join } from "node:path";
import { addAbortSignal, Readable } from "node:stream";
import { crc32 } from "node:zlib";
import { SkerryError } from "@skerry/contract/errors";
import type { ArrivalNeeds } from "@skerry/contract/host-api/move-calls";
import type {
  SavedArrivalOrder,
  SavedDeparted,
  SavedDepartureOrder,
  SavedFile,
  SavedFileName,
  SavedManifest,
} from "@skerry/contract/host-api/saved-moves";
import { isId } from "@skerry/contract/ids";
import { incompatibility, type HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import { findSize, type Size } from "@skerry/contract/sizes";
import type { TemplateLibrary } from "../templates/library.ts";
import { paused } from "../vm/lifecycle/end-reason.ts";
import type { VmEngine } from "../vm/engine/engine.ts";
import { pathsOf } from "../vm/disk/backing-files.ts";
import { diskGibOf } from "../vm/start/boot.ts";
import { memoryOf } from "../vm/record/memory-of.ts";
import { saveRecord, type VmRecord } from "../vm/record/record.ts";
import { syncFolder } from "../system/sync-folder.ts";
import type { RecordOwner } from "../vm/record/read-records.ts";
import { checkSaved, readSaved, type SavedGuest } from "../vm/saved/saved-guest.ts";
import type { SavedFolder, Snapshots } from "../vm/saved/snapshots.ts";
import { VM_FOLDER_MODE, type HostResources } from "../vm/record/vm-resources.ts";
import type { Layers } from "../vm/disk/layers.ts";
import type { Destination, Peers } from "./peers.ts";
import { SavedArrival, savedFilePaths } from "./saved-arrival.ts";
import { wholeMemory } from "./whole-memory.ts";

export interface SavedMovesOptions {
  readonly engine: Pick<VmEngine, "has" | "paused" | "addPaused">;
  readonly snapshots: Snapshots;
  readonly resources: Pick<HostResources, "emptyMemoryFolder">;
  readonly library: TemplateLibrary;
  readonly layers: Layers;
  readonly peers: Peers;
  /** Of what is started here now. */
  readonly compatibility: () => Promise<HostCompatibility>;
  readonly vmsFolder: string;
  readonly owner: RecordOwner;
}

interface Departing {
  readonly moveId: string;
  readonly abort: AbortController;
  readonly done: Promise<SavedDeparted>;
}

/** Departures whose answer is remembered, for a control plane that did not get it. */
const DEPARTURES_MAX = 1_000;

export class SavedMoves {
  readonly #options: SavedMovesOptions;
  readonly #arrivals = new Map<string, SavedArrival>();
  readonly #departures = new Map<string, Departing>();

  constructor(options: SavedMovesOptions) {
    this.#options = options;
  }

  async manifest(id: string): Promise<SavedManifest> {
    const { layers } = this.#options;
    const { saved } = await this.#find(id);
    const { vm_id, template, size, saved_at, runs_on, below } = saved;
    return {
      ...{ vm_id, template, size, saved_at, runs_on },
      disk_gib: await diskGibOf(below),
      below: await layers.digestsBelow(below),
    };
  }

  /** The same order twice is one arrival. */
  async receive(id: string, order: SavedArrivalOrder): Promise<ArrivalNeeds> {
    const { compatibility } = this.#options;
    const here = await compatibility();
    const known = this.#arrivals.get(id);
    if (known?.moveId === order.move_id) return known.needs;
    const size = findSize(order.manifest.size);
    if (size === undefined) throw new SkerryError("move_refused", "This host does not know the size.");
    const fault = incompatibility(order.manifest.runs_on, here);
    if (fault !== undefined) throw new SkerryError("move_refused", `It cannot go on here: ${fault}.`);
    if ((order.paused === undefined) !== isId("snapshot", id))
      throw new SkerryError("bad_request", "A snapshot is not paused, and all else is.");
    if (this.#isHere(id)) {
      if (await this.#cameWith(id, order.move_id)) return { layers: [] };
      throw new SkerryError("move_refused", "Another one of this id is on this host.");
    }
    // No wait between this and the next look: an order that comes twice is one arrival.
    const arrival = this.#arrive(id, order, size);
    this.#arrivals.set(id, arrival);
    const forget = (): void => void (this.#arrivals.get(id) === arrival && this.#arrivals.delete(id));
    arrival.whole.then(forget, forget);
    await known?.giveUp();
    return arrival.needs;
  }

  /** The arrival that receives what the source sends. */
  arrival(id: string): SavedArrival {
    const known = this.#arrivals.get(id);
    // The same error as for a wrong ticket, so that a caller without one does not learn what arrives.
    if (known === undefined) throw new SkerryError("forbidden", "The ticket is not good for this.");
    return known;
  }

  /** Resolves when all that came with this move is here. */
  async whole(id: string, moveId: string): Promise<void> {
    const arrival = this.#arrivals.get(id);
    if (arrival?.moveId === moveId) return arrival.whole;
    if (!(await this.#cameWith(id, moveId)))
      throw new SkerryError("move_refused", "Nothing of this move is on this host.");
  }

  /** Leaves nothing of what came with this move; a paused sandbox that is whole is a VM, and destroyed as one. */
  async forget(id: string, moveId: string): Promise<void> {
    const arrival = this.#arrivals.get(id);
    if (arrival?.moveId === moveId) {
      this.#arrivals.delete(id);
      await arrival.giveUp();
    }
    const { snapshots } = this.#options;
    if (snapshots.find(id)?.saved.move_id === moveId) await snapshots.delete(id);
  }

  /** Resolves when the target has all of it. A repeated call waits for the same departure. */
  async depart(id: string, order: SavedDepartureOrder): Promise<SavedDeparted> {
    const known = this.#departures.get(id);
    if (known?.moveId === order.move_id) return known.done;
    known?.abort.abort(new SkerryError("canceled", "Another move has taken its place."));
    const abort = new AbortController();
    const done = this.#send(id, order, abort.signal);
    const entry = { moveId: order.move_id, abort, done };
    this.#departures.delete(id);
    this.#departures.set(id, entry);
    done.catch(() => void (this.#departures.get(id) === entry && this.#departures.delete(id)));
    for (const oldest of this.#departures.keys()) {
      if (this.#departures.size <= DEPARTURES_MAX) break;
      this.#departures.delete(oldest);
    }
    return done;
  }

  #isHere(id: string): boolean {
    const { engine, snapshots } = this.#options;
    return engine.has(id) || snapshots.find(id) !== undefined;
  }

  async #cameWith(id: string, moveId: string): Promise<boolean> {
    return (await this.#find(id).catch(() => undefined))?.saved.move_id === moveId;
  }

  async #find(id: string): Promise<SavedFolder> {
    const { engine, snapshots, owner } = this.#options;
    if (isId("snapshot", id)) {
      const kept = snapshots.find(id);
      if (kept !== undefined) return kept;
      throw new SkerryError("snapshot_not_found", "There is no such snapshot on this host.");
    }
    const { folder } = engine.paused(id);
    return { folder, saved: await readSaved(folder, owner.places) };
  }

  #arrive(id: string, order: SavedArrivalOrder, size: Size): SavedArrival {
    const { snapshots, library, layers } = this.#options;
    const part = snapshots.partOf(`${id}-${order.move_id}`);
    return new SavedArrival({
      ...{ library, layers, order, size, part },
      keep: async (saved) => {
        if (this.#isHere(id))
          throw new SkerryError("move_refused", "Another one of this id is on this host.");
        if (order.paused === undefined) await snapshots.add(id, part, saved);
        else await this.#keepPaused(this.#recordOf(id, order.paused, saved), part);
      },
    });
  }

  async #keepPaused(record: VmRecord, part: string): Promise<void> {
    const { engine, vmsFolder } = this.#options;
    await saveRecord({ ...record, folder: part });
    await chmod(part, VM_FOLDER_MODE);
    await rename(part, record.folder);
    await syncFolder(vmsFolder);
    engine.addPaused(record);
  }

  #recordOf(id: string, order: NonNullable<SavedArrivalOrder["paused"]>, saved: SavedGuest): VmRecord {
    const { vmsFolder, owner } = this.#options;
    const { template, size, saved_at, runs_on, memory_of, below } = saved;
    return {
      ...{ id, ...order, template, size, ...paused, started_at: saved_at },
      name: `${owner.instance}:${id}:${order.execution_id}`,
      folder: join(vmsFolder, id),
      // It holds none, and gets one when it goes on.
      slot: 0,
      process: undefined,
      ...{ below, memory_of, started_with: runs_on },
    };
  }

  async #send(id: string, order: SavedDepartureOrder, signal: AbortSignal): Promise<SavedDeparted> {
    const { layers, peers, snapshots } = this.#options;
    const origin = await this.#find(id);
    const { folder, saved } = origin;
    if (isId("snapshot", id)) await snapshots.whole(id);
    else await checkSaved(folder, saved);
    const to = { address: order.address, path: `/saved/${id}/arrival`, ticket: order.ticket };
    const own = pathsOf(saved.below);
    for (const digest of order.layers) {
      const file = await layers.find(digest, own);
      if (file === undefined) throw new SkerryError("move_refused", "It does not stand on this layer.");
      await peers.sendLayer(to, digest, Readable.from(layers.read(file)), signal);
    }
    const file = (name: SavedFileName): AsyncIterable<Buffer> => bytesOf(join(folder, savedFilePaths[name]));
    const state = await this.#sendFile(to, "state", { content: file("state"), signal });
    const disk = await this.#sendFile(to, "disk", { content: file("disk"), signal });
    const memory = await this.#sendFile(to, "memory", {
      content: saved.memory_of === "own" ? file("memory") : await this.#wholeMemory(origin),
      signal,
    });
    // What is paused may have gone on meanwhile, and its disk is another one since then.
    const now = await this.#find(id);
    if (now.saved.saved_at !== saved.saved_at)
      throw new SkerryError("move_failed", "It went on while it was being sent.");
    await peers.seal(to, { memory, state, disk }, signal);
    return { memory_bytes: memory.bytes, disk_bytes: disk.bytes };
  }

  async #wholeMemory({ folder, saved }: SavedFolder): Promise<AsyncIterable<Buffer>> {
    const memoryMib = findSize(saved.size)?.memory_mib ?? 0;
    const base = await memoryOf(this.#options.resources, saved, memoryMib);
    return wholeMemory(join(folder, savedFilePaths.memory), base);
  }

  /** Rejects unless the target has the bytes that were read here. */
  async #sendFile(
    to: Destination,
    name: SavedFileName,
    { content, signal }: { readonly content: AsyncIterable<Buffer>; readonly signal: AbortSignal },
  ): Promise<SavedFile> {
    const sent = { bytes: 0, crc32: 0 };
    const counted = async function* (): AsyncGenerator<Buffer> {
      for await (const part of content) {
        sent.bytes += part.length;
        sent.crc32 = crc32(part, sent.crc32);
        yield part;
      }
    };
    const stream = addAbortSignal(signal, Readable.from(counted()));
    const came = (await this.#options.peers.sendFile(to, name, stream, signal)) as
      | Partial<SavedFile>
      | undefined;
    if (came?.bytes === sent.bytes && came.crc32 === sent.crc32) return sent;
    throw new SkerryError("move_failed", `The target has not got the file "${name}" as it was sent.`);
  }
}

const READ_BYTES = 1024 * 1024;

/** The file is opened when the first of them is asked for. */
async function* bytesOf(file: string): AsyncGenerator<Buffer> {
  yield* createReadStream(file, { highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>;
}
