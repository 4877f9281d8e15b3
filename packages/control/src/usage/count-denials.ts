// Counts what egress rules have refused. Hosts tell it by VM and minute and remember the last ones, so each round counts them anew: a round that is
// missed, or a host that is silent for a moment, loses nothing, and nothing is counted twice.

import { DENIALS_KEPT_MINUTES } from "@skerry/contract/host-api/denials";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import { hostsInReach } from "../hosts/host-rows.ts";
import { storeDenials, type HostDenials } from "./usage-store.ts";

/** Hosts that are asked at the same time. */
const AT_ONCE = 16;
const MINUTE_MS = 60_000;

/** Returns how many hosts could not say it. */
export async function countDenials(context: Context, stop: AbortSignal): Promise<number> {
  const sinceMinute = Math.floor(Date.now() / MINUTE_MS) - DENIALS_KEPT_MINUTES;
  const hosts = await hostsInReach(context.db);
  const told: HostDenials[] = [];
  let failed = 0;
  const left = hosts.values();
  const work = async () => {
    for (const { id, address } of left) {
      if (stop.aborted) return;
      try {
        const { items } = await context.hosts.client(address).metrics.denials(sinceMinute, stop);
        told.push(...items.map((item) => ({ ...item, host: id })));
      } catch (error) {
        // Of a version that does not count them.
        if (error instanceof SkerryError && error.code === "not_found") continue;
        failed += 1;
        context.log.debug({ err: error, host_id: id }, "a host could not tell its denials");
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  context.metrics.deniedPackets.add(await storeDenials(context.db, told, { sinceMinute }));
  return failed;
}
