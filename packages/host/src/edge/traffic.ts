// Requests of instances, summed up from what the proxy counts of its seats. Its counters begin at 0 with each
// configuration, and a seat goes on counting when another instance has it.

import { countsSince, countsTogether, type TrafficCounts } from "@skerry/contract/host-api/traffic-counts";
import type { EdgeInstance, EdgeTraffic } from "@skerry/contract/host-api/edge";

type Counted = EdgeTraffic["instances"][number];

/** Instances without a seat whose sums are kept for the next who asks. */
const GONE_MAX = 500;

export class Traffic {
  /** Last counters of each seat. */
  readonly #seats = new Map<string, TrafficCounts>();
  /** By instance. */
  readonly #sums = new Map<string, Counted>();

  /** `seats`: which instance has which seat. `counted`: counters of seats, of all or of some. */
  note(seats: ReadonlyMap<string, EdgeInstance>, counted: ReadonlyMap<string, TrafficCounts>): void {
    for (const [seat, counts] of counted) {
      const instance = seats.get(seat);
      if (instance !== undefined) this.#add(instance, countsSince(counts, this.#seats.get(seat)));
      this.#seats.set(seat, counts);
    }
    this.#forget(new Set([...seats.values()].map(keyOf)));
  }

  /** Counts from here on: the proxy is another process, with counters at 0, or this one is. */
  beginWith(counted: ReadonlyMap<string, TrafficCounts>): void {
    this.#seats.clear();
    for (const [seat, counts] of counted) this.#seats.set(seat, counts);
  }

  sums(): Counted[] {
    return [...this.#sums.values()];
  }

  #add(instance: EdgeInstance, counts: TrafficCounts): void {
    const { vm, execution_id } = instance;
    const key = keyOf(instance);
    // It had requests before this process began, at most.
    if (counts.requests === 0 && !this.#sums.has(key)) return;
    this.#sums.set(key, { vm, execution_id, ...countsTogether(this.#sums.get(key), counts) });
  }

  #forget(seated: ReadonlySet<string>): void {
    const gone = [...this.#sums.keys()].filter((key) => !seated.has(key));
    for (const key of gone.slice(0, Math.max(0, gone.length - GONE_MAX))) this.#sums.delete(key);
  }
}

function keyOf({ vm, execution_id }: EdgeInstance): string {
  return `${vm} ${execution_id}`;
}
