// How far a drain is. Pure.

import type { Host, Move } from "@skerry/sdk";
import { moveStatusesUnderWay } from "@skerry/contract/moves/move-status";

export interface Drain {
  /** Guests that are still the host's own. */
  readonly left: number;
  /** Of those, the ones on their way. */
  readonly travelling: number;
  /** Moves that have ended well since the drain began. */
  readonly done: number;
  /** What is left takes about so long at the pace so far. Undefined where none has arrived yet, or one waits: then no pace says anything. */
  readonly aboutMs: number | undefined;
}

export function isUnderWay({ status }: Move): boolean {
  return (moveStatusesUnderWay as readonly string[]).includes(status);
}

/** `moves`: of any host. Undefined where the host does not drain. */
export function drainOf(host: Host, moves: readonly Move[]): Drain | undefined {
  if (host.status !== "draining") return undefined;
  const own = moves.filter(({ from_host_id: from }) => from === host.id);
  const beganMs = Date.parse(host.status_since);
  const arrivedMs = own
    .filter(({ status }) => status === "done")
    .map(({ status_since: at }) => Date.parse(at))
    .filter((atMs) => atMs >= beganMs);
  const left = host.used.vms;
  const paceMs = arrivedMs.length === 0 ? undefined : (Math.max(...arrivedMs) - beganMs) / arrivedMs.length;
  return {
    left,
    // From `resuming` on it is its target's.
    travelling: Math.min(left, own.filter((move) => isUnderWay(move) && move.status !== "resuming").length),
    done: arrivedMs.length,
    aboutMs: paceMs === undefined || left === 0 || host.waits_for !== null ? undefined : paceMs * left,
  };
}
