// The snapshots of this host: a folder each, whole or not there. A guest that starts from one maps its pages, so removing one takes nothing
// from those that run.

import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import type { HostSnapshot } from "@skerry/contract/host-api/snapshots";
import { isId } from "@skerry/contract/ids";
import type { Logger } from "pino";
import { checkDiskReserve } from "../disk/disk-reserve.ts";
import { pathsOf, type BackingPlaces } from "../disk/backing-files.ts";
import type { KeyedQueue } from "../../system/keyed-queue.ts";
import type { Running } from "../lifecycle/vm-table.ts";
import { CLOSED_MODE } from "../../system/closed-folders.ts";
import { syncFolder } from "../../system/sync-folder.ts";
import type { HostResources } from "../record/vm-resources.ts";
import { orDiskFull, saveGuest } from "./save-guest.ts";
import { checkSaved, readSaved, savable, sealSaved, type SavedGuest } from "./saved-guest.ts";

export interface SnapshotsOptions {
  readonly folder: string;
  readonly places: BackingPlaces;
  readonly log: Logger;
}

/** The files of a guest, and what is said of them. */
export interface SavedFolder {
  readonly folder: string;
  readonly saved: SavedGuest;
}

export interface TakeOptions {
  readonly resources: HostResources;
  readonly slotWork: KeyedQueue;
  /** Told for how many milliseconds the guest stands still. */
  readonly onStill?: ((ms: number) => void) | undefined;
}

const PART = ".part";
/** Forks of one snapshot begin together; its files are read once for all of them. */
const CHECKED_FOR_MS = 30_000;

interface Kept extends SavedFolder {
  checked?: { readonly atMs: number; readonly done: Promise<void> };
}

export class Snapshots {
  readonly #options: SnapshotsOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #taking = new Map<string, Promise<HostSnapshot>>();
  /** There is one that could not be read, so it is not known what it stands on. */
  #hasUnread = false;

  private constructor(options: SnapshotsOptions) {
    this.#options = options;
  }

  /** Removes what was not finished. What cannot be read is left alone and told in the log. */
  static async open(options: SnapshotsOptions): Promise<Snapshots> {
    const { folder, places, log } = options;
    const snapshots = new Snapshots(options);
    await mkdir(folder, { recursive: true, mode: CLOSED_MODE });
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      if (name.endsWith(PART)) {
        await rm(path, { recursive: true, force: true }).catch((error: unknown) =>
          log.warn({ err: error, path }, "an unfinished snapshot could not be removed; it stays"),
        );
        continue;
      }
      try {
        snapshots.#kept.set(name, { folder: path, saved: await readSaved(path, places) });
      } catch (error) {
        snapshots.#hasUnread = true;
        log.error({ err: error, folder: path }, "a snapshot cannot be read; its files are left as they are");
      }
    }
    return snapshots;
  }

  list(): HostSnapshot[] {
    return [...this.#kept].map(([id, { saved }]) => shown(id, saved));
  }

  /** A snapshot of a VM that runs, and goes on. The same call twice is one snapshot. */
  take(id: string, entry: Running, shared: TakeOptions): Promise<HostSnapshot> {
    const kept = this.#kept.get(id);
    if (kept !== undefined) return Promise.resolve(shown(id, kept.saved));
    let taking = this.#taking.get(id);
    if (taking === undefined) {
      taking = this.#take(id, entry, shared).finally(() => this.#taking.delete(id));
      this.#taking.set(id, taking);
    }
    return taking;
  }

  /** Throws `snapshot_not_found`, and `snapshot_damaged` unless its files are byte for byte what was saved. */
  async whole(id: string): Promise<SavedFolder> {
    const kept = this.#kept.get(id);
    if (kept === undefined)
      throw new SkerryError("snapshot_not_found", "There is no such snapshot on this host.");
    const now = performance.now();
    if (kept.checked === undefined || now - kept.checked.atMs > CHECKED_FOR_MS)
      kept.checked = { atMs: now, done: checkSaved(kept.folder, kept.saved) };
    await kept.checked.done;
    return kept;
  }

  /** Of this id, without a look at its files. */
  find(id: string): SavedFolder | undefined {
    return this.#kept.get(id);
  }

  /** Where the files of a saved guest lie while they arrive: what is there when a host starts is removed. */
  partOf(name: string): string {
    return join(this.#options.folder, `${name}${PART}`);
  }

  /** A snapshot whose files have all arrived in the folder `part`, which becomes its own. */
  async add(id: string, part: string, saved: SavedGuest): Promise<void> {
    const { folder } = this.#options;
    await rename(part, join(folder, id));
    await syncFolder(folder);
    this.#kept.set(id, { folder: join(folder, id), saved });
  }

  /** Succeeds also where there is none, and where it is one that could not be read. */
  async delete(id: string): Promise<void> {
    if (!isId("snapshot", id)) return;
    const { folder } = this.#options;
    await this.#taking.get(id)?.catch(() => undefined);
    const going = join(folder, `${id}.deleted${PART}`);
    // Renamed first: a host that is killed here has no half of a snapshot.
    await rename(join(folder, id), going).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    this.#kept.delete(id);
    await rm(going, { recursive: true, force: true });
  }

  /** Files that the disks and the memory of snapshots stand on. Undefined where that is not known of every one. */
  backingFiles(): readonly string[] | undefined {
    if (this.#hasUnread) return undefined;
    return [...this.#kept.values()].flatMap(({ saved }) => pathsOf(saved.below));
  }

  async #take(
    id: string,
    entry: Running,
    { resources, slotWork, onStill }: TakeOptions,
  ): Promise<HostSnapshot> {
    const { folder } = this.#options;
    const part = join(folder, `${id}${PART}`);
    const record = savable(entry.record);
    await checkDiskReserve(folder);
    try {
      await mkdir(part, { mode: 0o700 });
      await slotWork.take(record.id, async () => {
        const sinceMs = performance.now();
        const standstill = await entry.guestHalt.standStill();
        try {
          await saveGuest({ resources, record, qmp: entry.live.qmp, folder: part });
        } finally {
          onStill?.(performance.now() - sinceMs);
          await standstill.goOn();
        }
      });
      const saved = await sealSaved(part, record, true);
      await rename(part, join(folder, id));
      await syncFolder(folder);
      this.#kept.set(id, { folder: join(folder, id), saved });
      return shown(id, saved);
    } catch (error) {
      await rm(part, { recursive: true, force: true });
      return orDiskFull(error);
    }
  }
}

function shown(id: string, { vm_id, template, size, saved_at, runs_on, files }: SavedGuest): HostSnapshot {
  return {
    ...{ id, vm_id, template, size, runs_on, created_at: saved_at },
    memory_bytes: files.memory.bytes,
    disk_bytes: files.disk?.bytes ?? 0,
  };
}
