// How late control's event loop was lately. It makes every answer late at once, and only the operator needs to see it: control tells it
// among its metrics, which need a token of the operator's organization.

import type { Layout } from "./system/layout.ts";
import { savedToken } from "./servers/token.ts";

const DEADLINE_MS = 3_000;
const LONGEST = /^skerry_event_loop_delay_max_seconds (\S+)$/m;

/** The longest delay of the last minute, in seconds; undefined where it cannot be learned. Call it only when it is our control that listens. */
export async function longestLoopDelayS(layout: Layout): Promise<number | undefined> {
  const token = await savedToken(layout);
  if (token === undefined) return undefined;
  try {
    const response = await fetch(`${layout.apiUrl}/metrics`, {
      headers: { authorization: `Bearer ${token}`, accept: "text/plain" },
      signal: AbortSignal.timeout(DEADLINE_MS),
      redirect: "error",
    });
    const [, seconds] = LONGEST.exec(await response.text()) ?? [];
    return seconds === undefined ? undefined : Number(seconds);
  } catch {
    return undefined;
  }
}
