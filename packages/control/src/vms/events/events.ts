// The log of a VM's life, as its owner reads it.

import type { VmEvent } from "@skerry/contract/vms/events";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { readPage, type Page, type PageParams } from "../../values/page.ts";
import type { VmRef } from "../vm-kind.ts";
import type { Denials } from "./denials.ts";
import { listVmEvents, tellRecurring, type VmEventRow } from "./event-store.ts";

export interface ListParams extends VmRef {
  readonly page: PageParams;
  readonly denials: Denials;
}

/** Also of one that was destroyed, for as long as its log is kept. */
export async function listEvents(
  context: Context,
  caller: Caller,
  { kind, id, page, denials }: ListParams,
): Promise<Page<VmEvent>> {
  const row = await kind.get(context, caller, id);
  // Only its host knows what it was denied.
  if (row.status === "running" && page.cursor === undefined) await denials.tell(row);
  const { orgId } = caller;
  const found = await readPage("event", page, (before, limit) =>
    listVmEvents(context.db, { orgId, vmId: id, before, limit }),
  );
  return { ...found, items: found.items.map(eventOf) };
}

/** A command was killed for want of memory. Its caller has been told, and does not wait for this. */
export function tellOutOfMemory(context: Context, id: string): void {
  context.metrics.outOfMemory.add(1, "command");
  const event = {
    kind: "out_of_memory",
    reason: "a command was killed",
    ...{ lastAt: null, count: { more: 1 } },
  } as const;
  tellRecurring(context.db, id, [event]).catch((error: unknown) => {
    context.log.warn({ err: error, vm_id: id }, "that a VM was out of memory could not be written down");
  });
}

function eventOf({ id, kind, reason, at, count, last_at }: VmEventRow): VmEvent {
  return {
    ...{ id, kind, reason, count: Number(count) },
    at: at.toISOString(),
    last_at: last_at.toISOString(),
  };
}
