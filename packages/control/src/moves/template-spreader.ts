// Carries templates of organizations to hosts that lack them: those that a request or a move waits for, and those that would be lost with a host that is
// drained. An activation lasts as long as anything is on its way, and looks around meanwhile: one that is large keeps no other one waiting.

import { setTimeout as sleep } from "node:timers/promises";
import { DEFAULT_SIZE, findSize } from "@skerry/contract/sizes";
import { placeSaved } from "@skerry/contract/hosts/placement";
import { reportOf, type BackgroundService } from "../background/background-service.ts";
import { hasRoomFor } from "../background/fair-places.ts";
import type { Context } from "../context.ts";
import { chooseTarget, orderCopy } from "../templates/template-copies.ts";
import { copyTemplate } from "./copy-template.ts";
import {
  copiesOf,
  dueCopies,
  keyOf,
  leavingTemplates,
  postponeCopy,
  sweepFailedCopies,
  unwantedCopies,
  type DueCopy,
} from "../templates/template-copy-rows.ts";

/** Of all organizations: each takes disks and networks, which VMs notice. */
const AT_ONCE = 8;
const LEAVING_AT_ONCE = 32;
/** One that has come, or is not wanted any more, is noticed this soon. */
const LOOK_MS = 1_000;

export function templateSpreader(context: Context, everyMs: number): BackgroundService {
  return {
    name: "template-spreader",
    everyMs,
    async activate(stop) {
      const hand = new CopyHand(context, stop);
      await sweepFailedCopies(context.db);
      let ordered: number;
      let ended: number;
      try {
        do {
          ended = hand.results.length;
          ordered = await orderLeaving(context);
          for (const copy of await dueCopies(context.db, hand.keys, AT_ONCE - hand.keys.length))
            if (hand.hasRoomFor(copy.org_id)) hand.take(copy);
          await hand.wait(LOOK_MS);
          hand.halt(await unwantedCopies(context.db));
          // Those that have just ended, be it all at once, have left their places to others.
        } while ((hand.keys.length > 0 || hand.results.length > ended) && !stop.aborted);
      } finally {
        await hand.empty();
      }
      const { results } = hand;
      if (results.length > 0) for (const waiting of ["mover", "host-drain"] as const) context.wake(waiting);
      const report = reportOf(results, { examined: results.length, more: false });
      return results.length + ordered === 0 ? report : { ...report, nextMs: LOOK_MS };
    },
  };
}

/** Where a host is drained, what it alone has goes to the host that would have most left. Returns how many have begun. */
async function orderLeaving({ db, hostCapacity, limits }: Context): Promise<number> {
  const leaving = await leavingTemplates(db, LEAVING_AT_ONCE);
  const size = findSize(DEFAULT_SIZE);
  if (leaving.length === 0 || size === undefined) return 0;
  await hostCapacity.refreshNow();
  const hostIds = placeSaved(hostCapacity.hosts, size, limits.vcpusPerCpu);
  let ordered = 0;
  for (const templateId of leaving) {
    const target = chooseTarget(hostIds, await copiesOf(db, templateId));
    if (target === undefined) continue;
    await orderCopy(db, { templateId, hostId: target.hostId, sizes: [] });
    ordered += 1;
  }
  return ordered;
}

interface CopyInHand {
  readonly orgId: string;
  readonly done: Promise<void>;
  readonly halt: AbortController;
}

/** The copies that this activation carries on with. */
class CopyHand {
  readonly results: PromiseSettledResult<void>[] = [];
  readonly #context: Context;
  readonly #stop: AbortSignal;
  readonly #copies = new Map<string, CopyInHand>();

  constructor(context: Context, stop: AbortSignal) {
    this.#context = context;
    this.#stop = stop;
  }

  get keys(): string[] {
    return [...this.#copies.keys()];
  }

  hasRoomFor(orgId: string): boolean {
    const holders = [...this.#copies.values()].map((one) => one.orgId);
    return hasRoomFor(orgId, holders, AT_ONCE);
  }

  take(copy: DueCopy): void {
    const halt = new AbortController();
    const done = this.#run(copy, AbortSignal.any([this.#stop, halt.signal]))
      .then(
        (value) => this.results.push({ status: "fulfilled", value }),
        (reason: unknown) => this.results.push({ status: "rejected", reason }),
      )
      .then(() => void this.#copies.delete(keyOf(copy)));
    this.#copies.set(keyOf(copy), { orgId: copy.org_id, done, halt });
  }

  /** Resolves when one of them has ended, there are none, or the time is over. */
  async wait(ms: number): Promise<void> {
    if (this.#copies.size === 0) return;
    const waiting = new AbortController();
    const time = sleep(ms, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([time, ...[...this.#copies.values()].map(({ done }) => done)]);
    waiting.abort();
  }

  /** What they have got to is taken back when they are due again. */
  halt(keys: readonly string[]): void {
    for (const key of keys) this.#copies.get(key)?.halt.abort();
  }

  async empty(): Promise<void> {
    await Promise.allSettled([...this.#copies.values()].map(({ done }) => done));
  }

  async #run(copy: DueCopy, stop: AbortSignal): Promise<void> {
    try {
      await copyTemplate(this.#context, copy, stop);
    } catch (error) {
      // One that was halted is taken back at once.
      if (!stop.aborted) await postponeCopy(this.#context.db, copy, "internal error");
      throw error;
    }
  }
}
