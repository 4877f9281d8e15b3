import { setTimeout as sleep } from "node:timers/promises";
import type { ServerResponse } from "node:http";
import { encodeFrame, frameTypes } from "@skerry/contract/frames";
import { OUTPUT_PING_MS } from "@skerry/contract/host-api/executions";

/** What is read until there is no more, with a ping to the caller for each time in which nothing came. `onPing` may throw; it is told how many
 *  there were in a row. */
export async function* withPings<T>(
  read: () => Promise<T | undefined>,
  response: ServerResponse,
  onPing: (pings: number) => Promise<unknown> = async () => undefined,
): AsyncGenerator<T, void> {
  for (let pings = 0; ;) {
    const reading = read();
    reading.catch(() => undefined); // it is awaited below
    for (;;) {
      const over = new AbortController();
      const silence = sleep(OUTPUT_PING_MS, "silent" as const, { signal: over.signal }).catch(
        () => "silent" as const,
      );
      const next = await Promise.race([reading, silence]);
      over.abort();
      if (next === undefined || response.destroyed) return;
      if (next !== "silent") {
        pings = 0;
        yield next as T;
        break;
      }
      response.write(encodeFrame(frameTypes.ping, STREAM));
      pings += 1;
      await onPing(pings);
    }
  }
}

/** Each answer carries one stream. */
export const STREAM = 1;
