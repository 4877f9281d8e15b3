import { setTimeout as sleep } from "node:timers/promises";
import { inventory, type Platform } from "../tests/support/platform.ts";

const DEADLINE_MS = 30_000;
const POLL_MS = 1_000;

/** How many processes, namespaces, overlays and rows there still are when no sandbox should be; what takes longer than the
 *  reconciler may need is left behind. */
export async function leftBehind(platform: Platform): Promise<number> {
  const endMs = performance.now() + DEADLINE_MS;
  for (;;) {
    const { processes, namespaces, overlays, runningRows, unsettledRows } = await inventory(platform);
    const left = processes + namespaces + overlays + runningRows + unsettledRows;
    if (left === 0 || performance.now() > endMs) return left;
    await sleep(POLL_MS);
  }
}
