// An organization's own template goes to a host with room where those that have it have none. The request waits for it: a template of a few hundred
// megabytes is there and frozen in seconds, and a client that was told to come again would ask for the same. What takes longer goes on without the
// request, which is told when to ask again.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { BuiltInTemplate } from "@skerry/contract/templates/template";
import type { Size } from "@skerry/contract/sizes";
import { place } from "@skerry/contract/hosts/placement";
import type { Context } from "../context.ts";
import { holdTemplate, hostsOfTemplate, type OwnTemplateRow } from "../templates/own-templates.ts";
import { chooseTarget, copiesOf, orderCopy, sendersOf } from "../templates/template-copies.ts";
import { lockCapacity } from "./capacity-store.ts";
import { checkQuotas, type Amounts } from "./check-quotas.ts";

/** Below what clients and proxies wait for an answer. */
export const TEMPLATE_WAIT_MS = 30_000;
const LOOK_MS = 250;
const RETRY_S = 5;

interface Wanted {
  readonly orgId: string;
  readonly template: string;
  readonly size: Size;
  readonly quotas: (template: BuiltInTemplate) => Partial<Amounts>;
  readonly on?: string;
  readonly own:
    | { readonly row: OwnTemplateRow; readonly places: ReadonlyMap<string, readonly string[]> }
    | undefined;
}

/** True when it is on one more host, or was there a moment ago: the caller looks again. False where it cannot be brought to any. Throws `template_not_ready`
 *  where it is on its way for longer than the caller waits, or could not be frozen there, and `quota_exceeded`. */
export async function bringTemplate(context: Context, wanted: Wanted, endMs: number): Promise<boolean> {
  const { own, size, on } = wanted;
  if (own === undefined || on !== undefined) return false;
  const hosts = context.hostCapacity.hosts.filter(({ id }) => !own.places.has(id));
  const placement = place(hosts, size, context.limits.vcpusPerCpu);
  if (placement.kind !== "candidates") return false;
  if ((await sendersOf(context.db, own.row.id)).length === 0) return false;
  const copies = await copiesOf(context.db, own.row.id);
  const target = chooseTarget(placement.hostIds, copies);
  if (target === undefined) throw notBrought(wanted, copies[0]?.reason ?? null);
  if (!(await order(context, wanted, target.hostId))) return false;
  context.wake("template-spreader");
  return hasCome(context, wanted, { hostId: target.hostId, endMs });
}

/** Nothing is brought for a request that its quotas refuse. False where the template was deleted a moment before. */
async function order(context: Context, wanted: Wanted, hostId: string): Promise<boolean> {
  const { orgId, own, size, quotas } = wanted;
  if (own === undefined) return false;
  const { id, disk_gib } = own.row;
  return context.db.transaction().execute(async (transaction) => {
    const capacity = await lockCapacity(transaction, orgId, hostId);
    const { vcpus, memory_mib } = size;
    const asBuiltIn = { id, name: id, description: "", disk_gib, status: "ready" } as const;
    checkQuotas(context, capacity, { ...quotas(asBuiltIn), vcpus, memory_mib });
    if (!(await holdTemplate(transaction, id))) return false;
    await orderCopy(transaction, { templateId: id, hostId, sizes: [size.name] });
    return true;
  });
}

async function hasCome(
  context: Context,
  wanted: Wanted,
  { hostId, endMs }: { readonly hostId: string; readonly endMs: number },
): Promise<boolean> {
  const id = wanted.own?.row.id ?? "";
  while (performance.now() < endMs) {
    // On any other one: the first that it comes to will do.
    const places = await hostsOfTemplate(context.db, id);
    if ([...places.keys()].some((host) => wanted.own?.places.has(host) === false)) return true;
    const copies = await copiesOf(context.db, id);
    const failed = copies.find((copy) => copy.host_id === hostId && copy.status === "failed");
    if (failed !== undefined) return true;
    await sleep(LOOK_MS);
  }
  throw notBrought(wanted, null);
}

function notBrought({ template }: Wanted, reason: string | null): SkerryError {
  const message =
    reason === null
      ? `The template "${template}" is on its way to a host that has room.`
      : `The template "${template}" could not be brought to a host that has room: ${reason}`;
  return new SkerryError("template_not_ready", message, {
    remediation:
      reason === null
        ? "Try again in a few seconds."
        : "Destroy what was made of it and is no longer needed, or try again in some minutes.",
    retryAfterS: RETRY_S,
    context: { field: "template", value: template },
  });
}
