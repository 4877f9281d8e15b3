// Where a saved guest goes that has to leave its host: to the one with most room on which it could go on.

import { randomBytes } from "node:crypto";
import { kindOf } from "@skerry/contract/ids";
import { findSize } from "@skerry/contract/sizes";
import { placeSaved } from "../capacity/placement.ts";
import type { HostLoad } from "../capacity/reservation.ts";
import type { Context } from "../context.ts";
import { faultBetween, type Departure } from "./begin-move.ts";
import { compatibilitiesOf, recentFailures, type DrainingHost } from "./move-store.ts";
import { insertSavedMove, type MovableSaved } from "./saved-move-store.ts";

/** `here`: what it was saved on, where that is not known of itself. */
export async function beginSavedMove(
  context: Context,
  saved: MovableSaved,
  here: Pick<DrainingHost, "compatibility">,
): Promise<Departure> {
  const size = findSize(saved.size);
  if (size === undefined) return waits(saved, `its size "${saved.size}" is unknown`);
  await context.hostCapacity.refreshNow();
  const others = context.hostCapacity.hosts.filter(({ id }) => id !== saved.host_id);
  const { fitting, fault } = await fittingHosts(context, saved, { others, here });
  for (const toHostId of placeSaved(fitting, size, context.limits.vcpusPerCpu)) {
    const ticket = randomBytes(32).toString("hex");
    const move = await insertSavedMove(context.db, saved, { toHostId, ticket });
    return move === undefined ? { kind: "left" } : { kind: "begun", move };
  }
  if (others.length === 0) return waits(saved, "no other host is online");
  return waits(saved, fault ?? `no other host is large enough for the size "${size.name}"`);
}

async function fittingHosts(
  { db }: Context,
  { id, runs_on }: MovableSaved,
  { others, here }: { others: readonly HostLoad[]; here: Pick<DrainingHost, "compatibility"> },
): Promise<{ readonly fitting: readonly HostLoad[]; readonly fault: string | undefined }> {
  const ids = others.map((host) => host.id);
  const compatibilities = await compatibilitiesOf(db, ids);
  const failed = await recentFailures(db, id);
  const faults = ids.map(
    (host) => failed.get(host) ?? faultBetween(runs_on ?? here.compatibility, compatibilities.get(host)),
  );
  return {
    fitting: others.filter((_host, index) => faults[index] === undefined),
    fault: faults.find((fault) => fault !== undefined),
  };
}

function waits({ id }: MovableSaved, why: string): Departure {
  const what = kindOf(id) === "snapshot" ? "the snapshot" : "the paused sandbox";
  return { kind: "waits", waitsFor: `${what} ${id} has nowhere to go: ${why}` };
}
