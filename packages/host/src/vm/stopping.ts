// The polite end of a guest: its main process is asked, then killed, and what it wrote is on the disk before QEMU goes.

import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { shutDownGuest, terminateMain, type MainProcess } from "../guest/agent.ts";
import type { GuestChannel } from "../guest/channel.ts";
import type { Rest } from "./rest.ts";

interface Stoppable {
  readonly channel: GuestChannel;
  /** Undefined where the guest runs for certain. */
  readonly rest: Rest | undefined;
  readonly main: MainProcess | undefined;
}

/** Rejects where the guest does not take part; then QEMU is killed like after a power failure, and the disk's journal has the rest. */
export async function stopGuest({ channel, rest, main }: Stoppable, graceMs: number): Promise<void> {
  using _awake = await rest?.use();
  if (main !== undefined && graceMs > 0) {
    await terminateMain(channel, constants.signals.SIGTERM);
    const waiting = new AbortController();
    const grace = sleep(graceMs, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([main.exit, grace]);
    waiting.abort();
  }
  // What still runs gets SIGKILL here.
  await shutDownGuest(channel);
}
