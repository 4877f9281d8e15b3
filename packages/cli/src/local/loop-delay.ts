// How late control's event loop was lately. It makes every answer late at once, and only the operator needs to see it: control tells it
// among its metrics, which need a token of the operator's organization.

import { askControl } from "./ask-control.ts";
import type { Layout } from "./system/layout.ts";

const LONGEST = /^skerry_event_loop_delay_max_seconds (\S+)$/m;

/** The longest delay of the last minute, in seconds; undefined where it cannot be learned. Call it only when it is our control that listens. */
export async function longestLoopDelayS(layout: Layout): Promise<number | undefined> {
  const [, seconds] = LONGEST.exec((await askControl(layout, "/metrics")) ?? "") ?? [];
  return seconds === undefined ? undefined : Number(seconds);
}
