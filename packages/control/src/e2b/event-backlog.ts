// Events of watchers that their clients have not asked for yet. Guests make them, and this process holds them for all organizations, so their bytes are
// bounded for each watcher, for each organization, and in total.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { FilesystemEventSchema } from "./wire/filesystem_pb.js";

export type FilesystemEvent = MessageInitShape<typeof FilesystemEventSchema>;

export interface BacklogBounds {
  readonly perWatcherBytes: number;
  readonly perOrganizationBytes: number;
  readonly totalBytes: number;
}

const MIB = 1024 * 1024;
const defaults: BacklogBounds = {
  perWatcherBytes: MIB,
  perOrganizationBytes: 16 * MIB,
  totalBytes: 128 * MIB,
};

/** Of an event without its texts, which have two bytes for each character. */
const EVENT_BYTES = 500;

/** Roughly what it takes in memory. */
function bytesOf({ name = "", entry }: FilesystemEvent): number {
  const texts = [name, entry?.name, entry?.path, entry?.owner, entry?.group, entry?.symlinkTarget];
  const metadata = Object.entries(entry?.metadata ?? {}).flat();
  return (
    EVENT_BYTES + [...texts, ...metadata].reduce<number>((sum, text) => sum + 2 * (text?.length ?? 0), 0)
  );
}

interface Taken {
  /** Oldest first. */
  readonly events: FilesystemEvent[];
  /** Whether events that came before these were lost. */
  readonly isIncomplete: boolean;
}

/** What all watchers of this process hold together. */
export class EventBacklogs {
  readonly #bounds: BacklogBounds;
  readonly #organizations = new Map<string, number>();
  #total = 0;

  constructor(bounds: BacklogBounds = defaults) {
    this.#bounds = bounds;
  }

  open(orgId: string): EventBacklog {
    return new EventBacklog(
      (bytes) => this.#add(orgId, bytes),
      (bytes) => this.#isOver(orgId, bytes),
    );
  }

  #add(orgId: string, bytes: number): void {
    this.#total += bytes;
    const ofOrganization = (this.#organizations.get(orgId) ?? 0) + bytes;
    if (ofOrganization === 0) this.#organizations.delete(orgId);
    else this.#organizations.set(orgId, ofOrganization);
  }

  /** `bytes`: of the one watcher. */
  #isOver(orgId: string, bytes: number): boolean {
    const { perWatcherBytes, perOrganizationBytes, totalBytes } = this.#bounds;
    if (bytes > perWatcherBytes || this.#total > totalBytes) return true;
    return (this.#organizations.get(orgId) ?? 0) > perOrganizationBytes;
  }
}

/** Of one watcher. Where a bound is reached its own oldest events give way, never those of another watcher. */
export class EventBacklog {
  readonly #add: (bytes: number) => void;
  readonly #isOver: (bytes: number) => boolean;
  #events: FilesystemEvent[] = [];
  #bytes = 0;
  #isIncomplete = false;
  #isClosed = false;
  /** How many have come so far, lost ones too. */
  arrived = 0;

  constructor(add: (bytes: number) => void, isOver: (bytes: number) => boolean) {
    this.#add = add;
    this.#isOver = isOver;
  }

  push(event: FilesystemEvent): void {
    if (this.#isClosed) return;
    this.arrived += 1;
    this.#events.push(event);
    this.#count(bytesOf(event));
    while (this.#events.length > 0 && this.#isOver(this.#bytes)) {
      const [oldest] = this.#events.splice(0, 1);
      this.#count(-bytesOf(oldest ?? {}));
      this.#isIncomplete = true;
    }
  }

  /** Where events were lost, the first call says so and takes nothing; the next one takes what is left. */
  take(): Taken {
    if (this.#isIncomplete) {
      this.#isIncomplete = false;
      return { events: [], isIncomplete: true };
    }
    const events = this.#events;
    this.#events = [];
    this.#count(-this.#bytes);
    return { events, isIncomplete: false };
  }

  /** Forgets what is left, and takes nothing any more. */
  close(): void {
    this.#isClosed = true;
    this.#events = [];
    this.#count(-this.#bytes);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#add(bytes);
  }
}
