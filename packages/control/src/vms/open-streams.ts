// What stays open for as long as its client likes. Each one holds a connection and buffers of this process, which all organizations share,
// so the number is bounded for each VM, and for each organization: no tenant takes them from another, however many VMs it has.

import { SkerryError } from "@skerry/contract/errors";
import type { Caller } from "../caller.ts";

export interface OpenStreamsBounds {
  readonly perVm: number;
  readonly perOrganization: number;
}

/** Whose output, log or terminal it is. */
interface Streamed {
  readonly kind: { readonly noun: string };
  readonly id: string;
}

/** Counts those of one sort in this process. */
export class OpenStreams {
  readonly #what: string;
  readonly #bounds: OpenStreamsBounds;
  readonly #counts = new Map<string, number>();

  /** `what`: in the plural, for people. */
  constructor(what: string, bounds: OpenStreamsBounds) {
    this.#what = what;
    this.#bounds = bounds;
  }

  /** One more, until it is disposed of. Throws `too_many_streams`. */
  take({ orgId }: Pick<Caller, "orgId">, { kind, id }: Streamed): Disposable {
    // With the organization, so that a stranger who names the VM uses up nothing of it.
    const vm = `${orgId} ${id}`;
    const { perVm, perOrganization } = this.#bounds;
    if (this.#count(vm) >= perVm) throw this.#tooMany(`this ${kind.noun}`, perVm);
    if (this.#count(orgId) >= perOrganization) throw this.#tooMany("your organization", perOrganization);
    this.#add(vm, 1);
    this.#add(orgId, 1);
    using undo = new DisposableStack();
    undo.defer(() => this.#add(vm, -1));
    undo.defer(() => this.#add(orgId, -1));
    return undo.move();
  }

  #count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  #add(key: string, change: number): void {
    const count = this.#count(key) + change;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }

  #tooMany(whose: string, max: number): SkerryError {
    return new SkerryError("too_many_streams", `${max} ${this.#what} of ${whose} are open.`, {
      remediation: "Close some of them, and try again.",
      context: { max },
      retryAfterS: 5,
    });
  }
}
