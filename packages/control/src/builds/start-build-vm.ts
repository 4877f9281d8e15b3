// The microVM of a build that is queued. A build that began anew has had another one, which ends before this one starts: the row names the new one
// first, so that a replica which dies in between leaves what the next one carries on with.

import { SkerryError } from "@skerry/contract/errors";
import { BUILDER_TEMPLATE } from "@skerry/contract/templates/template-name";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { hostEgress } from "../secrets/host-egress.ts";
import type { BuildRow } from "./build-store.ts";

interface Starting {
  readonly row: BuildRow & { readonly execution_id: string };
  readonly client: HostClient;
  readonly stop: AbortSignal;
}

/** The same call twice is one microVM. Throws `layer_missing`, and what else the host answers. */
export async function startBuildVm(context: Context, { row, client, stop }: Starting): Promise<void> {
  const { id, execution_id, size, egress, org_id } = row;
  const spec = {
    ...{ execution_id, size, env: {}, build: row.target },
    template: BUILDER_TEMPLATE,
    hostname: id.replace("_", "-"),
    egress: await hostEgress(context, { id, org_id, egress }),
    egress_version: 1,
  };
  try {
    await client.startVm(id, spec, { stop });
  } catch (error) {
    if (!(error instanceof SkerryError) || error.code !== "stale_execution") throw error;
    const former = (await client.listVms(stop)).find((vm) => vm.id === id);
    if (former !== undefined && former.execution_id !== execution_id) await client.destroyVm(former, stop);
    await client.startVm(id, spec, { stop });
  }
}
