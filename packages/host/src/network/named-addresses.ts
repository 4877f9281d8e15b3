// What allowed names have led to, in the slots whose policies open it: names decide HTTP and TLS by what a connection shows, and every other protocol by
// the addresses that the host's own lookups have answered, for as long as the answers hold. A connection that has begun goes on after that.

import { createHash } from "node:crypto";
import type { HostEgress } from "@skerry/contract/vms/egress";
import { setTimeout as sleep } from "node:timers/promises";
import { LeakyBucket } from "../system/leaky-bucket.ts";
import { KeyedQueue } from "../system/keyed-queue.ts";
import { loadRules } from "./netns-exec.ts";
import type { Slot } from "./slot.ts";

/** Beyond the time that an answer holds: who has asked may connect a little later. */
const GRACE_S = 60;
/** Of one slot at a time. */
export const NAMED_MAX = 1_024;
/** Each load runs a program of root's for a guest's lookups, some 20 ms of a CPU: what comes meanwhile goes with the slot's next one. */
const LOADS = { slot: { burst: 20, perMs: 5 / 1_000 }, host: { burst: 100, perMs: 20 / 1_000 } } as const;
/** Loads of the host at a time. Slots have their turns in the order in which they ask, with one load each. */
const LANES = 2;

/** Whether names open addresses; otherwise the mode does, or nothing. */
export function opensByName({
  mode,
  allow_domains = [],
}: Pick<HostEgress, "mode" | "allow_domains">): boolean {
  return mode === "deny_all" && allow_domains.length > 0;
}

/** Of a connection that a name has opened. It is cut as soon as another policy by name is in force. 31 bits, and never 0. */
export function namedMark({ allow_domains = [], deny_domains = [], allow_ports }: HostEgress): number {
  const lists = JSON.stringify([
    allow_domains.toSorted(),
    deny_domains.toSorted(),
    allow_ports.toSorted((one, other) => one - other),
  ]);
  return (createHash("sha256").update(lists).digest().readUInt32BE(0) >>> 1) | 1;
}

/** One transaction. `add` keeps the time of an element that is there, so each is taken away first; and `delete` fails for one that is not there, so each is
 *  added before that. */
export function openingScript(table: string, addresses: ReadonlyMap<string, number>): string {
  const all = [...addresses.keys()].join(", ");
  const timed = [...addresses].map(([address, ttlS]) => `${address} timeout ${ttlS + GRACE_S}s`).join(", ");
  return [`add`, `delete`, `add`]
    .map((verb, index) => `${verb} element inet ${table} named { ${index === 2 ? timed : all} }\n`)
    .join("");
}

export interface Opening {
  /** The address of its slot. */
  readonly guest: string;
  /** `namedMark` of the policy that the names were allowed by. */
  readonly mark: number;
  /** IPv4. */
  readonly addresses: readonly string[];
  readonly ttlS: number;
}

interface OpenSlot {
  readonly slot: Slot;
  readonly mark: number;
  readonly loads: LeakyBucket;
  /** Until when they are open, by `performance`. */
  readonly untilMs: Map<string, number>;
  /** What the next load opens, and for how many seconds. */
  readonly pending: Map<string, number>;
  pendingLoad: Promise<void> | undefined;
}

export class NamedAddresses {
  readonly #table: string;
  /** By the address of the guest's slot. */
  readonly #slots = new Map<string, OpenSlot>();
  readonly #queue = new KeyedQueue();
  readonly #lanes = new KeyedQueue();
  readonly #loads = new LeakyBucket(LOADS.host, performance.now());
  #lastLane = 0;

  constructor(table: string) {
    this.#table = table;
  }

  /** Does what puts a policy in force, with which nothing is open yet by name. Neither overtakes the other, and openings that the policy allows wait for it. */
  load(
    guest: string,
    { slot, policy }: { readonly slot: Slot; readonly policy: HostEgress },
    work: () => Promise<void>,
  ): Promise<void> {
    return this.#queue.take(guest, async () => {
      await work();
      this.#slots.delete(guest);
      if (!opensByName(policy)) return;
      const loads = new LeakyBucket(LOADS.slot, performance.now());
      const empty = { untilMs: new Map(), pending: new Map(), pendingLoad: undefined };
      this.#slots.set(guest, { slot, mark: namedMark(policy), loads, ...empty });
    });
  }

  /** Open when it resolves. Nothing where the guest has another policy by now, or as many addresses as it may have. */
  async open({ guest, mark, addresses, ttlS }: Opening): Promise<void> {
    // The proxy knows a policy before its rules are loaded.
    if (this.#slots.get(guest)?.mark !== mark) await this.#queue.settled(guest);
    const open = this.#slots.get(guest);
    if (open === undefined || open.mark !== mark) return;
    ask(open, addresses, ttlS);
    if (open.pending.size === 0) return;
    open.pendingLoad ??= this.#loadPending(guest, open);
    await open.pendingLoad;
  }

  /** A policy waits for the load itself, and for none of the pauses before it. */
  async #loadPending(guest: string, open: OpenSlot): Promise<void> {
    await turn(open.loads);
    this.#lastLane = (this.#lastLane + 1) % LANES;
    await this.#lanes.take(String(this.#lastLane), async () => {
      await turn(this.#loads);
      await this.#queue.take(guest, () => this.#openPending(guest, open));
    });
  }

  async #openPending(guest: string, open: OpenSlot): Promise<void> {
    open.pendingLoad = undefined;
    const pending = new Map(open.pending);
    open.pending.clear();
    if (this.#slots.get(guest) !== open) return;
    await loadRules(openingScript(this.#table, pending), open.slot);
    const nowMs = performance.now();
    for (const [address, ttlS] of pending) open.untilMs.set(address, nowMs + (ttlS + GRACE_S) * 1_000);
  }
}

async function turn(loads: LeakyBucket): Promise<void> {
  loads.spend(1);
  await sleep(loads.pauseMs(performance.now()));
}

/** Those that are not open for so long yet. */
function ask({ untilMs, pending }: OpenSlot, addresses: readonly string[], ttlS: number): void {
  const nowMs = performance.now();
  for (const [address, until] of untilMs) if (until < nowMs) untilMs.delete(address);
  for (const address of addresses) {
    const isKnown = untilMs.has(address) || pending.has(address);
    if (!isKnown && untilMs.size + pending.size >= NAMED_MAX) continue;
    if ((untilMs.get(address) ?? 0) < nowMs + ttlS * 1_000)
      pending.set(address, Math.max(ttlS, pending.get(address) ?? 0));
  }
}
