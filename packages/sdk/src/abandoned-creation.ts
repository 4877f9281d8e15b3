// A creation whose caller has stopped waiting for it.

import type { CreateOptions } from "./http.ts";

/** As long as a first use that freezes a template usually takes, several times over. Until then a program does not end by itself. */
const SETTLE_WITHIN_MS = 60_000;

/**
 * Rejects with the signal's reason as soon as that is aborted. The server goes on with a creation whose client has left, so its answer is
 * waited for in the background, and what it made is destroyed: its caller would never learn its id. A caller that has chosen the
 * idempotency key can find it again, so for that one nothing is destroyed.
 */
export async function orDestroyed<Created>(
  { signal, idempotencyKey, ...options }: CreateOptions,
  create: (options: CreateOptions) => Promise<Created>,
  destroy: (created: Created) => Promise<unknown>,
): Promise<Created> {
  if (signal === undefined || idempotencyKey !== undefined)
    return create({ ...options, signal, idempotencyKey });
  signal.throwIfAborted();
  const giveUp = new AbortController();
  const creating = create({ ...options, signal: giveUp.signal });
  let abandon = (): void => undefined;
  const abandoned = new Promise<never>((_, reject) => {
    abandon = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abandon, { once: true });
  });
  try {
    return await Promise.race([creating, abandoned]);
  } catch (error) {
    if (signal.aborted) {
      const timer = setTimeout(() => giveUp.abort(), SETTLE_WITHIN_MS);
      // Refused, failed, or never answered: there is nothing that could be destroyed, and the caller has its error.
      void creating
        .then(destroy)
        .catch(() => undefined)
        .finally(() => clearTimeout(timer));
    }
    throw error;
  } finally {
    signal.removeEventListener("abort", abandon);
  }
}
