import { basename } from "node:path";
import type { Logger } from "pino";
import { ensureFrozen, frozenNames, type FreezeOptions, type FrozenTemplate } from "./frozen.ts";

interface Freeze {
  readonly frozen: Promise<FrozenTemplate>;
  readonly stop: AbortController;
}

/** What is frozen on this host, and what is being frozen: each once, however many wait for it. */
export class Freezes {
  readonly #log: Logger;
  /** By the first of their names. */
  readonly #freezes = new Map<string, Freeze>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** The first call takes some seconds, later ones nothing. */
  frozen(options: FreezeOptions): Promise<FrozenTemplate> {
    const [key] = frozenNames(options);
    const known = this.#freezes.get(key);
    if (known !== undefined) return known.frozen;
    const stop = new AbortController();
    const freeze = { frozen: this.#freeze(options, stop.signal), stop };
    this.#freezes.set(key, freeze);
    // A failure rejects all waiting calls, and the next call tries again.
    freeze.frozen.catch(() => this.#freezes.get(key) === freeze && this.#freezes.delete(key));
    return freeze.frozen;
  }

  /** The next call looks for it anew. */
  forget(frozen: FrozenTemplate): void {
    for (const key of this.#freezes.keys())
      if (basename(frozen.folder).startsWith(key)) this.#freezes.delete(key);
  }

  /** Those of this template end, and who waits gets the reason. Resolves when nothing of them is left that was not whole. */
  async stop(template: string, reason: Error): Promise<void> {
    const ofIt = [...this.#freezes].filter(([key]) => key.startsWith(`${template}-`));
    for (const [key, { stop }] of ofIt) {
      this.#freezes.delete(key);
      stop.abort(reason);
    }
    await Promise.allSettled(ofIt.map(([, { frozen }]) => frozen));
  }

  async #freeze(options: FreezeOptions, stop: AbortSignal): Promise<FrozenTemplate> {
    const startedMs = performance.now();
    const frozen = await ensureFrozen(options, stop);
    const { description, size } = options;
    this.#log.info(
      { template: description.name, size: size.name, ms: Math.round(performance.now() - startedMs) },
      "template ready",
    );
    return frozen;
  }
}
