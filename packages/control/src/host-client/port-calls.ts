// The calls of the host API that reach the ports of a guest.

import { Compile } from "typebox/compile";
import { ListeningPorts, PORT_PROTOCOL } from "@skerry/contract/host-api/ports";
import { Deadline } from "./deadline.ts";
import { hostErrorOfCall } from "./host-errors.ts";
import type { HostTransport } from "./host-transport.ts";
import { PortConnection } from "./port-connection.ts";

/** The guest may have to be woken, and then has 30 s. */
const CONNECT_DEADLINE_MS = 45_000;

const listening = Compile(ListeningPorts);

export class PortCalls {
  readonly #transport: HostTransport;

  constructor(transport: HostTransport) {
    this.#transport = transport;
  }

  /** What listens in the guest. */
  list(
    vm: { readonly id: string; readonly execution_id: string },
    stop?: AbortSignal,
  ): Promise<ListeningPorts> {
    const call = {
      method: "GET",
      path: `/vms/${vm.id}/ports`,
      query: { execution_id: vm.execution_id },
    } as const;
    return this.#transport.json(call, listening, new Deadline(CONNECT_DEADLINE_MS, stop));
  }

  /** Resolves when the guest has accepted. Throws `port_not_listening` where nothing does. Abort `gone`, and nothing is connected. */
  async connect(
    vm: { readonly id: string; readonly execution_id: string },
    port: number,
    gone: AbortSignal,
  ): Promise<PortConnection> {
    using deadline = new Deadline(CONNECT_DEADLINE_MS, gone);
    const path = `/vms/${vm.id}/ports/${port}?execution_id=${encodeURIComponent(vm.execution_id)}`;
    let connection: PortConnection | undefined;
    try {
      connection = new PortConnection(await this.#transport.upgrade(path, PORT_PROTOCOL, deadline.signal));
      connection.on("error", () => undefined); // also where no reader hears it
      await connection.connected(deadline.signal);
      return connection;
    } catch (error) {
      connection?.destroy();
      throw hostErrorOfCall(error, deadline.signal);
    }
  }
}
