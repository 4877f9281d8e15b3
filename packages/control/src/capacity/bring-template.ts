// An organization's own template goes to a host with room where those that have it have none, and is frozen there. The request waits for it.

import type { BuiltInTemplate } from "@skerry/contract/templates/template";
import type { Size } from "@skerry/contract/sizes";
import { place } from "@skerry/contract/hosts/placement";
import type { Context } from "../context.ts";
import { canBeBrought, chooseTarget, orderCopy } from "../templates/template-copies.ts";
import { awaitTemplate, notBrought } from "./await-template.ts";
import { lockCapacity } from "./capacity-rows.ts";
import { checkQuotas, type Amounts } from "./check-quotas.ts";
import { holdTemplate, type OwnTemplateRow } from "../templates/own-template-rows.ts";
import { copiesOf } from "../templates/template-copy-rows.ts";

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
  if (!(await canBeBrought(context, own.row))) return false;
  const copies = await copiesOf(context.db, own.row.id);
  const target = chooseTarget(placement.hostIds, copies);
  if (target === undefined) throw notBrought(wanted.template, copies[0]?.reason ?? null);
  if (!(await order(context, wanted, target.hostId))) return false;
  context.wake("template-spreader");
  const lacking = placement.hostIds;
  await awaitTemplate(
    context,
    { id: own.row.id, name: wanted.template, hostId: target.hostId, lacking },
    endMs,
  );
  return true;
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
