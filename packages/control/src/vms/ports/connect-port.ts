// A connection to a port of a VM. A machine that a call has just started may need a while until its server
// listens, and the call waits for that: otherwise the first page after a rest would be an error.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { Tenant } from "../../caller.ts";
import type { Context } from "../../context.ts";
import type { HostClient } from "../../host-client/host-client.ts";
import type { PortConnection } from "../../host-client/port-connection.ts";
import type { VmAtHost, VmRef } from "../vm-kind.ts";

const WAIT_MAX_MS = 30_000;
const PAUSE_MS = 200;

export interface PortOfVm extends Pick<VmRef, "kind"> {
  readonly vm: VmAtHost;
  readonly client: HostClient;
  readonly port: number;
}

/** Throws `port_not_listening` where nothing listens in the end. Abort `gone`, and nothing is connected. */
export async function connectPort(
  context: Context,
  tenant: Tenant,
  { kind, vm, client, port }: PortOfVm,
  gone: AbortSignal,
): Promise<PortConnection> {
  for (const deadline = performance.now() + WAIT_MAX_MS; ;) {
    try {
      return await client.ports.connect(vm, port, gone);
    } catch (error) {
      if (!(error instanceof SkerryError) || error.code !== "port_not_listening") throw error;
      // Also where the clock of this process was set back.
      if (performance.now() > deadline) throw error;
      if (!(await kind.isBeginning(context, tenant, vm))) throw error;
    }
    // Where the client has gone, the next attempt says so.
    await sleep(PAUSE_MS, undefined, { signal: gone }).catch(() => undefined);
  }
}
