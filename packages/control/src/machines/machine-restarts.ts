// The history of a machine's ends and restarts, as its owner reads it.

import { constants } from "node:os";
import { RESTARTS_KEPT_DAYS, type MachineEnd } from "@skerry/contract/machines/machine-end";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { readPage, type Page, type PageParams } from "../values/page.ts";
import { forgetMachineEnds, listMachineEnds, type MachineEndRow } from "./machine-end-store.ts";
import { getMachine } from "./machines.ts";

/** Also of one that was destroyed. */
export async function listMachineRestarts(
  context: Context,
  caller: Caller,
  { id, page }: { readonly id: string; readonly page: PageParams },
): Promise<Page<MachineEnd>> {
  const { id: machineId } = await getMachine(context, caller, id);
  const found = await readPage("event", page, (before, limit) =>
    listMachineEnds(context.db, { machineId, before, limit }),
  );
  return { ...found, items: found.items.map(restartOf) };
}

export function sweepMachineRestarts(db: Queries, limit: number): Promise<number> {
  return forgetMachineEnds(db, RESTARTS_KEPT_DAYS, limit);
}

function restartOf({
  id,
  cause,
  exit_code,
  signal,
  out_of_memory,
  reason,
  ...times
}: MachineEndRow): MachineEnd {
  return {
    ...{ id, cause, exit_code, out_of_memory, reason },
    signal: signal === null ? null : signalName(signal),
    ended_at: times.ended_at.toISOString(),
    restarted_at: times.restarted_at?.toISOString() ?? null,
  };
}

function signalName(number: number): string {
  const [name] = Object.entries(constants.signals).find(([, value]) => value === number) ?? [];
  return name ?? `signal ${number}`;
}
