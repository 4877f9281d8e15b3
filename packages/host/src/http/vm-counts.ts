import { SkerryError } from "@skerry/contract/errors";

/** Counts what is open of one kind in each VM, and refuses what is too much. */
export class VmCounts {
  readonly #max: number;
  readonly #what: string;
  readonly #counts = new Map<string, number>();

  /** `what`: in the plural. */
  constructor(max: number, what: string) {
    this.#max = max;
    this.#what = what;
  }

  /** One more, until it is disposed of. Throws `sandbox_busy`. */
  take(id: string): Disposable {
    const count = this.#counts.get(id) ?? 0;
    if (count >= this.#max) {
      throw new SkerryError("sandbox_busy", `${this.#max} ${this.#what} of this VM are open.`, {
        remediation: "Close some of them.",
        retryAfterS: 1,
      });
    }
    this.#counts.set(id, count + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#counts.get(id) ?? 1) - 1;
        if (left === 0) this.#counts.delete(id);
        else this.#counts.set(id, left);
      },
    };
  }
}
