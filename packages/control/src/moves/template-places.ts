// Where VMs of an organization's own template can go: to hosts that have it. A host without it would run what is there, and could neither start it again
// nor give its forks the template's environment, so the template goes first.

import { isId } from "@skerry/contract/ids";
import type { Context } from "../context.ts";
import { hostsOfTemplate } from "../templates/own-templates.ts";
import { chooseTarget, copiesOf, orderCopy, sendersOf } from "../templates/template-copies.ts";

export interface TemplatePlaces<Host> {
  /** Of the hosts that were asked about, those that have it. */
  readonly having: readonly Host[];
  /** Has it brought to one of these hosts, of which none has it, the best first. Resolves with what has to be waited for, in words for the operator. */
  readonly bring: (hostIds: readonly string[]) => Promise<string>;
}

/** `template` is as rows of VMs have it: of a built-in one it is the name. */
export async function templatePlaces<Host extends { readonly id: string }>(
  context: Context,
  template: string,
  hosts: readonly Host[],
): Promise<TemplatePlaces<Host>> {
  if (!isId("template", template)) return { having: hosts, bring: async () => "no host" };
  const places = await hostsOfTemplate(context.db, template);
  return {
    having: hosts.filter(({ id }) => places.has(id)),
    bring: (hostIds) => bring(context, template, hostIds),
  };
}

async function bring(context: Context, templateId: string, hostIds: readonly string[]): Promise<string> {
  const [senders, copies] = await Promise.all([
    sendersOf(context.db, templateId),
    copiesOf(context.db, templateId),
  ]);
  if (senders.length === 0) return `no host in reach has its template ${templateId}`;
  const target = chooseTarget(hostIds, copies);
  if (target === undefined)
    return `its template ${templateId} could not be copied: ${copies[0]?.reason ?? "for no known reason"}`;
  if (!target.isUnderWay) {
    await orderCopy(context.db, { templateId, hostId: target.hostId, sizes: [] });
    context.wake("template-spreader");
  }
  return `its template ${templateId} is on its way to another host`;
}
