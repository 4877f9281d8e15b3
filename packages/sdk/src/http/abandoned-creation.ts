// A creation whose caller has stopped waiting for it, or which the server was silent about for too long.

import { SkerryConnectionError } from "../errors/errors.ts";
import type { CreateOptions } from "./http.ts";
import { isBrokenConnection } from "./retries.ts";

/** As long as a first use that freezes a template usually takes, several times over. Until then a program does not end by itself. */
const SETTLE_WITHIN_MS = 60_000;

/**
 * Rejects with the signal's reason as soon as that is aborted. The server goes on with a creation whose client has left, so its answer is
 * waited for in the background, and what it made is destroyed: its caller would never learn its id. Where the server was silent for too long
 * it is asked once more, under the same key, what came of it. A caller that has chosen the idempotency key can find it again, so for that
 * one nothing is destroyed.
 */
export async function orDestroyed<Created>(
  options: CreateOptions,
  create: (options: CreateOptions) => Promise<Created>,
  destroy: (created: Created) => Promise<unknown>,
): Promise<Created> {
  if (options.idempotencyKey !== undefined) return create(options);
  const { signal } = options;
  signal?.throwIfAborted();
  const giveUp = new AbortController();
  const idempotencyKey = crypto.randomUUID();
  const creating = create({ ...options, idempotencyKey, signal: giveUp.signal });
  let abandon = (): void => undefined;
  const abandoned = new Promise<never>((_, reject) => {
    abandon = () => reject(signal?.reason as Error);
    signal?.addEventListener("abort", abandon, { once: true });
  });
  try {
    return await Promise.race([creating, abandoned]);
  } catch (error) {
    if (signal?.aborted === true) settle(creating);
    else if (isSilence(error)) settle(create({ idempotencyKey, signal: giveUp.signal }));
    throw error;
  } finally {
    signal?.removeEventListener("abort", abandon);
  }

  function settle(made: Promise<Created>): void {
    const timer = setTimeout(() => giveUp.abort(), SETTLE_WITHIN_MS);
    // Refused, failed, or never answered: there is nothing that could be destroyed, and the caller has its error.
    void made
      .then(destroy)
      .catch(() => undefined)
      .finally(() => clearTimeout(timer));
  }
}

/** No answer in time. One whose connection broke has been sent again already. */
function isSilence(error: unknown): boolean {
  return error instanceof SkerryConnectionError && !isBrokenConnection(error);
}
