// Where VMs of an organization's own template can go: to hosts that have it. A host without it would run what is there, and could neither start it again
// nor give its forks the template's environment, so the template goes first.

import { isId } from "@skerry/contract/ids";
import type { Context } from "../context.ts";
import { canBeBrought, chooseTarget, orderCopy } from "../templates/template-copies.ts";
import { hostsOfTemplate, readyTemplate } from "../templates/own-template-rows.ts";
import { copiesOf } from "../templates/template-copy-rows.ts";

export interface TemplatePlaces<Host> {
  /** Of the hosts that were asked about, those that have it. */
  readonly having: readonly Host[];
  /** Has it brought to one of these hosts, of which none has it, the best first. */
  readonly bring: (hostIds: readonly string[]) => Promise<Bringing>;
}

export type Bringing =
  | { readonly kind: "coming"; readonly id: string; readonly hostId: string }
  /** Other than `coming`, `why` is in words for the operator; `reason` is what the last attempt met. */
  | { readonly kind: "failed"; readonly id: string; readonly reason: string; readonly why: string }
  | { readonly kind: "unreachable"; readonly why: string };

/** What has to be waited for, in words for the operator. */
export function waitsForTemplate(bringing: Bringing): string {
  if (bringing.kind !== "coming") return bringing.why;
  return `its template ${bringing.id} is on its way to another host`;
}

/** `template` is as rows of VMs have it: of a built-in one it is the name. */
export async function templatePlaces<Host extends { readonly id: string }>(
  context: Context,
  template: string,
  hosts: readonly Host[],
): Promise<TemplatePlaces<Host>> {
  if (!isId("template", template))
    return { having: hosts, bring: async () => ({ kind: "unreachable", why: "no host" }) };
  const places = await hostsOfTemplate(context.db, template);
  return {
    having: hosts.filter(({ id }) => places.has(id)),
    bring: (hostIds) => bring(context, template, hostIds),
  };
}

async function bring(context: Context, id: string, hostIds: readonly string[]): Promise<Bringing> {
  const template = await readyTemplate(context.db, id);
  if (template === undefined || !(await canBeBrought(context, template)))
    return { kind: "unreachable", why: `no host in reach has its template ${id}` };
  const copies = await copiesOf(context.db, id);
  const target = chooseTarget(hostIds, copies);
  if (target === undefined) {
    const reason = copies[0]?.reason ?? "for no known reason";
    return { kind: "failed", id, reason, why: `its template ${id} could not be copied: ${reason}` };
  }
  if (!target.isUnderWay) {
    await orderCopy(context.db, { templateId: id, hostId: target.hostId, sizes: [] });
    context.wake("template-spreader");
  }
  return { kind: "coming", id, hostId: target.hostId };
}
