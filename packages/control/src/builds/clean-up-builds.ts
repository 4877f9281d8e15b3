// VM cleanup of microVMs that build: one that its row does not name any more is superfluous. What is missing the build itself notices.

import type { Vm } from "@skerry/contract/host-api/vm";
import type { Context } from "../context.ts";
import type { HostClient } from "../host-client/host-client.ts";
import { buildVmFacts } from "./build-store.ts";

interface BuildVms {
  /** As the host listed them; the rows are read after that. */
  readonly vms: readonly Vm[];
  readonly client: HostClient;
  readonly stop: AbortSignal;
}

export async function buildVmWork(
  { db }: Context,
  { vms, client, stop }: BuildVms,
): Promise<(() => Promise<void>)[]> {
  if (vms.length === 0) return [];
  const facts = await buildVmFacts(
    db,
    vms.map(({ id }) => id),
  );
  const wanted = new Set(facts.map(({ id, execution_id }) => `${id} ${execution_id}`));
  return vms
    .filter(({ id, execution_id }) => !wanted.has(`${id} ${execution_id}`))
    .map((vm) => () => client.destroyVm(vm, stop));
}
