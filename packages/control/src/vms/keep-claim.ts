import { setInterval } from "node:timers";
import { CLAIM_MS } from "../db/claims.ts";
import type { Context } from "../context.ts";

/** Extends the claim on a row for as long as its holder works on it. */
export function keepClaim(context: Context, extend: () => Promise<void>): Disposable {
  const timer = setInterval(() => {
    extend().catch((error: unknown) => context.log.warn({ err: error }, "could not extend a claim"));
  }, CLAIM_MS / 3);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
