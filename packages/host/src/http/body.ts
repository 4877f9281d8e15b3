// Answers that are written as they come.

import { once } from "node:events";
import type { ServerResponse } from "node:http";

/** Writes a piece and waits until the peer takes more. False when the peer has gone away. */
export async function writePiece(response: ServerResponse, piece: Buffer): Promise<boolean> {
  if (response.destroyed) return false;
  if (response.write(piece)) return true;
  // Whichever comes first; the signal takes the other listener away again.
  const waiting = new AbortController();
  const events = ["drain", "close"].map((name) => once(response, name, { signal: waiting.signal }));
  for (const event of events) event.catch(() => undefined);
  await Promise.race(events);
  waiting.abort();
  return !response.destroyed;
}
