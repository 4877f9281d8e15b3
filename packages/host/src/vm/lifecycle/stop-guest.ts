// Stops a guest with a grace period: SIGTERM to its main process, then SIGKILL; its data is on the disk
// before QEMU ends.

import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { MainExit } from "@skerry/contract/host-api/vm";
import type { Logger } from "pino";
import { shutDownGuest, terminateMain, type MainProcess } from "../../guest/agent.ts";
import type { GuestChannel } from "../../guest/channel.ts";
import type { Running } from "./vm-table.ts";
import type { GuestHalt } from "./guest-halt.ts";

/** Lets a machine that ends by itself or is stopped shut down. Never rejects. */
export async function endGuest(
  { record, live, guestHalt, main }: Running,
  graceMs: number,
  log: Logger,
): Promise<MainExit | undefined> {
  if (record.machine === undefined) return undefined;
  try {
    return await stopGuest({ channel: live.channel, guestHalt, main }, graceMs);
  } catch (error) {
    log.debug({ err: error, vm: record.id }, "a guest was not there for its own end");
    return undefined;
  }
}

interface Stoppable {
  readonly channel: GuestChannel;
  /** Undefined where the guest is known to run. */
  readonly guestHalt: GuestHalt | undefined;
  readonly main: MainProcess | undefined;
}

/** Resolves with how the main process ended. Rejects where the guest does not answer; then QEMU is killed
 *  as by a power failure, and the journal recovers the disk. */
export async function stopGuest(
  { channel, guestHalt, main }: Stoppable,
  graceMs: number,
): Promise<MainExit | undefined> {
  using _awake = await guestHalt?.use();
  if (main !== undefined && graceMs > 0) {
    await terminateMain(channel, constants.signals.SIGTERM);
    const waiting = new AbortController();
    const grace = sleep(graceMs, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([main.exit, grace]);
    waiting.abort();
  }
  let exit: MainExit | undefined;
  main?.exit.then(
    (told) => (exit = told),
    () => undefined,
  );
  // Remaining processes get SIGKILL here, and the agent reports their end before it answers.
  await shutDownGuest(channel);
  return exit;
}
