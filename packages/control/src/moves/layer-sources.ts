// Where a host takes layers from that it lacks: first the object store, which costs no host's disk and network anything, and then the other hosts
// that have them.

import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { hostAddress } from "../hosts/host-rows.ts";
import { peerAddress } from "../hosts/peer-address.ts";
import { fetchStored } from "../object-store/stored-layers.ts";
import { sendersOf, type CopyRow } from "../templates/template-copy-rows.ts";
import type { OwnTemplateRow } from "../templates/own-template-rows.ts";

export interface LackedLayers {
  readonly copy: CopyRow;
  readonly template: OwnTemplateRow;
  /** The host that lacks them. */
  readonly target: HostClient;
  readonly digests: readonly string[];
}

/** Resolves when the target has all of them that this source has: which those are, the target says. Throws where it could not get one. */
export type LayerSource = (context: Context, lacked: LackedLayers, stop: AbortSignal) => Promise<void>;

export const layerSources: readonly LayerSource[] = [fromStore, fromHosts];

async function fromStore(
  context: Context,
  { template: { id, org_id }, target, digests }: LackedLayers,
  stop: AbortSignal,
): Promise<void> {
  await fetchStored(context, { template: id, orgId: org_id, digests }, { target, stop });
}

/** The first one that can sends all. */
async function fromHosts(
  context: Context,
  { copy: { template_id: template, host_id: hostId, ticket }, digests }: LackedLayers,
  stop: AbortSignal,
): Promise<void> {
  let error: unknown;
  for (const from of await sendersOf(context.db, template)) {
    const [sender, address] = await Promise.all([
      hostAddress(context.db, from),
      peerAddress(context.db, from, hostId),
    ]);
    if (sender === undefined) continue;
    if (address === undefined) {
      error = new SkerryError(
        "host_unreachable",
        "The hosts cannot reach each other; `SKERRY_HOST_LISTEN` lets the host beside control be reached.",
      );
      continue;
    }
    try {
      const order = { template, address, ticket, layers: [...digests] };
      await context.hosts.client(sender).templates.send(order, stop);
      return;
    } catch (cause) {
      if (stop.aborted) throw cause;
      error = cause;
    }
  }
  if (error !== undefined) throw error;
}
