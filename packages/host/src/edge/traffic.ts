// Requests of instances, summed up from what the proxy counts of its seats. Its counters begin at 0 with each
// configuration, and a seat goes on counting when another instance has it.

import type { EdgeInstance, EdgeTraffic } from "@skerry/contract/host-api/edge";

type Counted = EdgeTraffic["instances"][number];
export type Counts = Omit<Counted, "vm" | "execution_id">;

/** Instances without a seat whose sums are kept for the next who asks. */
const GONE_MAX = 500;

const names = [
  "requests",
  "client_errors",
  "server_errors",
  "received_bytes",
  "sent_bytes",
] as const satisfies readonly (keyof Counts)[];

export class Traffic {
  /** Last counters of each seat, with the instance that had it. */
  readonly #seats = new Map<string, { readonly key: string; readonly counts: Counts }>();
  readonly #sums = new Map<string, Counted>();

  /** `seats`: which instance has which seat. `counted`: counters of seats, of all or of some. */
  note(seats: ReadonlyMap<string, EdgeInstance>, counted: ReadonlyMap<string, Counts>): void {
    for (const [seat, counts] of counted) {
      const instance = seats.get(seat);
      const before = this.#seats.get(seat)?.counts;
      const key = instance === undefined ? "" : `${instance.vm} ${instance.execution_id}`;
      this.#seats.set(seat, { key, counts });
      if (instance !== undefined) this.#add(key, instance, more(counts, before));
    }
    this.#forget(new Set([...seats.values()].map(({ vm, execution_id }) => `${vm} ${execution_id}`)));
  }

  sums(): Counted[] {
    return [...this.#sums.values()];
  }

  #add(key: string, { vm, execution_id }: EdgeInstance, counts: Counts): void {
    const before = this.#sums.get(key);
    const sum = names.map((name) => [name, (before?.[name] ?? 0) + counts[name]]);
    // Object.fromEntries forgets which names it was given.
    this.#sums.set(key, { vm, execution_id, ...(Object.fromEntries(sum) as unknown as Counts) });
  }

  #forget(seated: ReadonlySet<string>): void {
    const gone = [...this.#sums.keys()].filter((key) => !seated.has(key));
    for (const key of gone.slice(0, Math.max(0, gone.length - GONE_MAX))) this.#sums.delete(key);
  }
}

/** Counters that run backwards have begun anew. */
function more(counts: Counts, before: Counts | undefined): Counts {
  if (before === undefined || before.requests > counts.requests) return counts;
  const difference = names.map((name) => [name, Math.max(0, counts[name] - before[name])]);
  return Object.fromEntries(difference) as unknown as Counts;
}
