// Where VMs ran a moment ago, so that one call into a VM after the other needs no look into the database. Whose VM it is never changes, and
// a route of another replica that is no longer true does no harm:
//
//   moved      it names the incarnation that is meant. A host where that does not run any more says so, and so does the source of a move that
//              has ended but for the source's own end; the call is then made where the VM is now.
//   stopped    the answer says that it has stopped, and comes when its host has confirmed that.
//   destroyed  the same, and where the host does not confirm, the answer waits until no replica has a route (`allLapsed`).
//
//
// A route ends with the time of its VM, so that one that has expired is refused by its row. A keepalive since then is in the row too.
//
// So nothing has to be announced to the other replicas, and nothing depends on an announcement that may be lost.

import { setTimeout as sleep } from "node:timers/promises";

import { BoundedMap } from "../values/bounded-map.ts";

/** A host that was removed on another replica is not called for longer; tokens are believed for about as long. */
const FRESH_MS = 3_000;
/** About 2 MB. */
const ROUTES_MAX = 10_000;

/** A running VM, and the address of its host. */
export interface VmRoute {
  readonly id: string;
  readonly org_id: string;
  readonly execution_id: string;
  readonly address: string;
}

interface Kept {
  readonly route: VmRoute;
  readonly untilMs: number;
}

export class VmLocations {
  readonly #freshMs: number;
  readonly #kept = new BoundedMap<string, Kept>(ROUTES_MAX);

  constructor(freshMs = FRESH_MS) {
    this.#freshMs = freshMs;
  }

  find(orgId: string, id: string): VmRoute | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.route.org_id !== orgId || kept.untilMs < performance.now())
      return undefined;
    return kept.route;
  }

  /** `askedMs`: when the database was asked for it; what has changed since may be unknown. `left_ms`: how long its time was then. */
  keep(route: VmRoute & { readonly left_ms?: number }, askedMs: number): void {
    const { id, org_id, execution_id, address, left_ms = Infinity } = route;
    this.#kept.set(id, {
      route: { id, org_id, execution_id, address },
      untilMs: askedMs + Math.min(this.#freshMs, left_ms),
    });
  }

  forget(id: string): void {
    this.#kept.delete(id);
  }

  /** All to this address. */
  forgetHost(address: string): void {
    this.#kept.deleteWhere(({ route }) => route.address === address);
  }

  /** Resolves when no replica has a route any more that it knew before this moment of ours. */
  async allLapsed(sinceMs: number): Promise<void> {
    await sleep(Math.max(0, sinceMs + this.#freshMs - performance.now()));
  }
}
