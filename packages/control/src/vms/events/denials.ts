// Connections that a VM's egress rules have refused, and secrets that its requests got on their way, are
// counted by its host, which is asked when the VM's log is read.

import type { EgressDenial, EgressInjection } from "@skerry/contract/vms/egress";
import type { Context } from "../../context.ts";
import { BoundedMap } from "../../values/bounded-map.ts";
import { clientOf, type VmRow } from "../vm-kind.ts";
import { tellRecurring, type Recurring } from "./event-store.ts";

/** Destinations of one report that the log tells apart. */
const DENIALS_MAX = 50;
/** Of one VM's host, however often its log is read. */
export const ASK_EVERY_MS = 10_000;
const REMEMBERED_MAX = 10_000;

interface Asked {
  readonly atMs: number;
  readonly done: Promise<void>;
}

export class Denials {
  readonly #context: Context;
  /** By id. */
  readonly #asked = new BoundedMap<string, Asked>(REMEMBERED_MAX);

  constructor(context: Context) {
    this.#context = context;
  }

  /** Resolves when the log has what was denied up to `ASK_EVERY_MS` ago, or when that cannot be known. */
  tell(row: VmRow): Promise<void> {
    const nowMs = performance.now();
    const last = this.#asked.get(row.id);
    // All who read at the same time wait for the one answer.
    if (last !== undefined && nowMs - last.atMs < ASK_EVERY_MS) return last.done;
    const done = this.#ask(row).catch((error: unknown) =>
      this.#context.log.debug({ err: error, vm_id: row.id }, "a VM's denials are not known"),
    );
    this.#asked.set(row.id, { atMs: nowMs, done });
    return done;
  }

  async #ask(row: VmRow): Promise<void> {
    const client = await clientOf(this.#context, row);
    const { denied, injected = [] } = await client.egress(row);
    const told = [
      ...denied.slice(0, DENIALS_MAX).toReversed().map(eventOf),
      ...injected.slice(0, DENIALS_MAX).toReversed().map(eventOfInjected),
    ];
    await tellRecurring(this.#context.db, row.id, told);
  }
}

/** What a host has counted, as one event for each destination. */
function eventOf({ address, domain, port, protocol, rule, count, last_at }: EgressDenial): Recurring {
  const to = domain ?? address;
  const where = port === 0 ? to : `${to} port ${port}`;
  const reason = `${protocol} to ${where}, by the rule ${rule}`;
  return { kind: "denied", reason, lastAt: last_at, count: { all: count } };
}

function eventOfInjected({ host, secret, count, last_at }: EgressInjection): Recurring {
  return { kind: "injected", reason: `${secret} to ${host}`, lastAt: last_at, count: { all: count } };
}
