// Empties hosts that are to be drained, and carries on with every move under way, whoever began it. A few at a time: a move takes the disks
// and the network of two hosts, and whoever runs on them notices.

import { beginMove } from "../services/departures.ts";
import { carryOn } from "../services/moving.ts";
import type { Context } from "../services/context.ts";
import {
  countMovesUnderWay,
  drainingHosts,
  dueMoves,
  movableVms,
  postponeMove,
  sayWhatItWaitsFor,
  type DrainingHost,
} from "../store/moves.ts";
import { reportOf, type BackgroundService } from "./service.ts";

const SERVICE = "mover";
const AT_ONCE = 3;
/** VMs of one host that are looked at: behind one that fits nowhere there may be smaller ones. */
const CANDIDATES = 32;
/** What is free elsewhere changes without anybody telling us. */
const WAITING_LOOK_MS = 5_000;
/** A VM that is being created settles, one that could not be moved is tried again. */
const SETTLING_LOOK_MS = 1_000;

export function mover(context: Context, everyMs: number): BackgroundService {
  return {
    name: SERVICE,
    everyMs,
    async activate(stop) {
      const draining = await drainingHosts(context.db);
      let waits = false;
      for (const host of draining) waits = (await beginMoves(context, host)) || waits;
      const due = await dueMoves(context.db, AT_ONCE);
      const results = await Promise.allSettled(
        due.map((move) =>
          carryOn(context, move, { service: SERVICE, stop }).catch(async (error: unknown) => {
            await postponeMove(context.db, move);
            throw error;
          }),
        ),
      );
      // The last one may have left.
      if (draining.length > 0) context.ring("host-drain");
      const moved = results.some((result) => result.status === "fulfilled" && result.value.status === "done");
      const report = reportOf(results, { examined: due.length, more: moved });
      if (draining.length === 0 && due.length === 0) return report;
      return { ...report, nextMs: waits ? WAITING_LOOK_MS : SETTLING_LOOK_MS };
    },
  };
}

/** True where a VM has nowhere to go. */
async function beginMoves(context: Context, host: DrainingHost): Promise<boolean> {
  let free = AT_ONCE - (await countMovesUnderWay(context.db));
  let waitsFor: string | null = null;
  for (const vm of free > 0 ? await movableVms(context.db, host.id, CANDIDATES) : []) {
    if (free <= 0) break;
    const begun = await beginMove(context, vm, host);
    if (begun.kind === "begun") free -= 1;
    if (begun.kind === "waits") waitsFor ??= begun.waitsFor;
  }
  await sayWhatItWaitsFor(context.db, host.id, waitsFor);
  return waitsFor !== null;
}
