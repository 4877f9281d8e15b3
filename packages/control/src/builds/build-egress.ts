// What a build may reach, and what it was denied. Its host knows that for as long as the microVM is there; what it said last is kept with the build.

import type { BuildEgress } from "@skerry/contract/builds/build";
import { isBuildOver } from "@skerry/contract/builds/build-status";
import type { EgressDenial, EgressRequest } from "@skerry/contract/vms/egress";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import { noteDenials, type BuildRow } from "./build-store.ts";
import { getBuild } from "./builds.ts";

/** What is kept of one build. */
const DENIALS_MAX = 100;
/** Named in its log. */
const SHOWN_MAX = 10;

/** Of a request that says nothing of it. Without domains that the operator names it is what holds for sandboxes of the organization. */
export function defaultBuildEgress({ buildDomains }: Pick<Context, "buildDomains">): EgressRequest {
  return buildDomains.length === 0 ? {} : { allow_domains: [...buildDomains] };
}

export async function getBuildEgress(context: Context, caller: Caller, id: string): Promise<BuildEgress> {
  const { row } = await getBuild(context, caller, id);
  return { ...row.egress, denied: [...((await deniedNow(context, row)) ?? row.denied)] };
}

/** Undefined where its host cannot tell. */
async function deniedNow(context: Context, row: BuildRow): Promise<readonly EgressDenial[] | undefined> {
  const { id, execution_id, host_id, status } = row;
  if (execution_id === null || isBuildOver(status)) return undefined;
  const address = await hostAddress(context.db, host_id);
  if (address === undefined) return undefined;
  return askDenials(context.hosts.client(address), { id, execution_id });
}

/** Keeps what a step was denied, as far as its host says it: the end of the step counts more. Returns lines for the log. */
export async function keepDenials(
  { db }: Context,
  client: HostClient,
  vm: { readonly id: string; readonly execution_id: string },
): Promise<string[]> {
  const denied = (await askDenials(client, vm)) ?? [];
  if (denied.length === 0) return [];
  await noteDenials(db, vm.id, denied);
  const more = denied.length - SHOWN_MAX;
  return [
    ...denied.slice(0, SHOWN_MAX).map(lineOf),
    ...(more > 0 ? [`Egress denied: ${more} more, which \`GET /v1/builds/${vm.id}/egress\` shows.`] : []),
  ];
}

async function askDenials(
  client: HostClient,
  vm: { readonly id: string; readonly execution_id: string },
): Promise<readonly EgressDenial[] | undefined> {
  const report = await client.egress(vm).catch(() => undefined);
  return report?.denied.slice(0, DENIALS_MAX);
}

function lineOf({ domain, address, port, protocol, rule }: EgressDenial): string {
  const where = [domain, address].filter((part) => part !== undefined && part !== "").join(" at ");
  return `Egress denied: ${where}, ${protocol} port ${port}, by the rule ${rule}.`;
}
