// When a guest is paused whose memory is sent while it runs. QEMU goes over the memory again and again, each time over what was written
// since, and pauses the guest itself once the rest takes no longer than the downtime limit. A guest that writes faster than that is slowed
// down by QEMU (auto-converge), and is paused here where even that leads nowhere.

/** Of `query-migrate`, in bytes. */
export interface RamProgress {
  readonly transferred?: number;
  readonly remaining?: number;
  readonly total?: number;
  /** How often QEMU has looked which pages were written. */
  readonly "dirty-sync-count"?: number;
}

/** One more pass over the memory that leaves more than this part of what the last one left is futile. */
const PROGRESS = 0.9;
const FUTILE_PASSES_MAX = 2;
/** A guest of any size may run on for so long, and longer by the time that one pass takes through two hosts' TLS on a bad day. */
const BASE_MS = 10_000;
const BYTES_PER_MS = 200_000;

export class Precopy {
  readonly #startedMs: number;
  #pass = 0;
  #left = Infinity;
  #futile = 0;

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
  }

  /** Whether the guest is paused now, so that the rest is sent while it stands still. */
  isFutile(ram: RamProgress | undefined, nowMs: number): boolean {
    const { remaining = 0, total = 0, "dirty-sync-count": pass = 0 } = ram ?? {};
    if (pass > this.#pass) {
      this.#futile = remaining > this.#left * PROGRESS ? this.#futile + 1 : 0;
      this.#pass = pass;
      this.#left = remaining;
    }
    return this.#futile >= FUTILE_PASSES_MAX || nowMs - this.#startedMs > BASE_MS + total / BYTES_PER_MS;
  }
}
