// Keeps the wall clock of a guest that never rests. Its kernel counts time by the CPU, which strays 10 to 50 ppm (1 to 4 s a day), and what
// the host learns by NTP does not reach it. A guest that was paused gets the time when it is woken.

import type { Logger } from "pino";
import { adjustClock } from "../../guest/agent.ts";
import type { GuestChannel } from "../../guest/channel.ts";
import type { GuestHalt } from "./guest-halt.ts";

const INTERVAL_MS = 5 * 60_000;
/** Smaller differences are left to a guest that disciplines its own clock. */
const TOLERANCE_US = 50_000;

/** From now on until the channel closes. */
export function keepTime(channel: GuestChannel, guestHalt: Pick<GuestHalt, "isStill">, log: Logger): void {
  let timer: NodeJS.Timeout;
  let isOver = false;
  const askIn = (ms: number): void => {
    if (isOver) return;
    timer = setTimeout(() => {
      const asked = guestHalt.isStill ? Promise.resolve() : correct(channel);
      asked
        // Its agent has no stream free, or is of a version that does not know the question.
        .catch((error: unknown) => log.debug({ err: error }, "a guest did not say what time it is"))
        .finally(() => askIn(INTERVAL_MS));
    }, ms);
    timer.unref();
  };
  // Not all at once where a host finds many.
  askIn(INTERVAL_MS * Math.random());
  void channel.closed.then(() => {
    isOver = true;
    clearTimeout(timer);
  });
}

/** Asks what time it is, and says by how much that is wrong where it is more than the question can tell. */
async function correct(channel: GuestChannel): Promise<void> {
  const sentUs = Date.now() * 1_000;
  const guestUs = await adjustClock(channel, 0);
  const receivedUs = Date.now() * 1_000;
  const uncertaintyUs = Math.abs(receivedUs - sentUs) / 2;
  const strayUs = Math.round((sentUs + receivedUs) / 2 - guestUs);
  if (Math.abs(strayUs) > TOLERANCE_US + uncertaintyUs) await adjustClock(channel, strayUs);
}
