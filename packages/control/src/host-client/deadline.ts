// A wait that ends: after a time, or when its caller gives up. `AbortSignal.any` with a signal that lives long keeps
// every short one alive with it, so the listener is added here and removed on dispose.

/** The time was over before the peer answered. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #parent: AbortSignal | undefined;
  readonly #onParentAbort = () => this.#controller.abort(this.#parent?.reason);

  constructor(ms: number, parent?: AbortSignal) {
    this.#timer = setTimeout(() => this.#controller.abort(new DeadlineError(`no answer in ${ms} ms`)), ms);
    this.#parent = parent;
    if (parent?.aborted === true) this.#onParentAbort();
    else parent?.addEventListener("abort", this.#onParentAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#parent?.removeEventListener("abort", this.#onParentAbort);
  }
}
