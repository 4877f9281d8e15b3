// Where VMs ran a moment ago, so that one call into a VM after the other needs no look into the database. A route that is no longer true
// does no harm: it names the incarnation that is meant, and a host where that does not run says so. Whose VM it is never changes.

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
  readonly #kept = new BoundedMap<string, Kept>(ROUTES_MAX);

  find(orgId: string, id: string): VmRoute | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.route.org_id !== orgId || kept.untilMs < performance.now())
      return undefined;
    return kept.route;
  }

  keep({ id, org_id, execution_id }: Omit<VmRoute, "address">, address: string): void {
    const route = { id, org_id, execution_id, address };
    this.#kept.set(id, { route, untilMs: performance.now() + FRESH_MS });
  }

  forget(id: string): void {
    this.#kept.delete(id);
  }

  /** All to this address. */
  forgetHost(address: string): void {
    this.#kept.deleteWhere(({ route }) => route.address === address);
  }
}
