// Seats of VMs: their addresses, the ports that are open to the proxy, and which of them get requests.

import type { EdgeInstance } from "@skerry/contract/host-api/edge";
import type { Logger } from "pino";
import type { Seat } from "./proxy-commands.ts";
import type { Seating } from "./seating.ts";

/** VMs of this host, as seats need them. */
export interface EdgeVms {
  /** Undefined: this incarnation does not run here. */
  addressOf(vm: VmOf): string | undefined;
  /** Opens these ports of a VM that runs to the proxy, and no others. */
  publish(vm: VmOf, ports: readonly number[]): Promise<void>;
  /** Whether its health check fails. */
  isFailing(vm: VmOf): boolean;
}
type VmOf = Pick<EdgeInstance, "vm" | "execution_id">;

export class VmSeats {
  readonly #vms: EdgeVms;
  /** Ports that are open, by VM and incarnation. */
  readonly #published = new Map<string, { readonly vm: VmOf; readonly ports: string }>();

  /** VMs whose ports could not be opened when that was tried last. */
  readonly #closed = new Set<string>();
  readonly #log: Pick<Logger, "warn">;

  constructor(vms: EdgeVms, log: Pick<Logger, "warn">) {
    this.#vms = vms;
    this.#log = log;
  }

  /** Seats with the addresses of VMs that run, whose ports it opens, and whether requests may go there. */
  async of(seating: Seating): Promise<Seat[][]> {
    const addresses = await this.#addresses(seating);
    return seating.map(({ seats, elsewhere }) => {
      const found = seats.map((instance) =>
        instance === null ? undefined : addresses.get(nameOf(instance)),
      );
      const isWell = (instance: EdgeInstance) => !this.#vms.isFailing(instance);
      // Where all fail, all go on getting requests: a check may be wrong, and no answer at all is worse.
      const anyWell =
        Object.keys(elsewhere).length > 0 ||
        seats.some(
          (instance, seat) =>
            instance !== null &&
            instance.state === "serving" &&
            found[seat] !== undefined &&
            isWell(instance),
        );
      return seats.map((instance, seat): Seat => {
        const at = found[seat];
        if (instance === null || at === undefined) return { instance, address: undefined, state: "maint" };
        const address = `${at}:${instance.port}`;
        if (instance.state === "draining") return { instance, address, state: "drain" };
        return { instance, address, state: !anyWell || isWell(instance) ? "ready" : "drain" };
      });
    });
  }

  /** Of all that run here, by VM and incarnation. */
  async #addresses(seating: Seating): Promise<ReadonlyMap<string, string>> {
    const byVm = Map.groupBy(
      seating.flatMap(({ seats }) => seats.filter((seat) => seat !== null)),
      nameOf,
    );
    const addresses = new Map<string, string>();
    for (const [name, instances] of byVm) {
      const ports = [...new Set(instances.map(({ port }) => port))].toSorted((a, b) => a - b);
      const [vm] = instances;
      const address = vm && (await this.#opened(vm, ports));
      if (address !== undefined) addresses.set(name, address);
    }
    for (const [name, { vm }] of this.#published) if (!byVm.has(name)) await this.#opened(vm, []);
    for (const name of this.#closed) if (!byVm.has(name)) this.#closed.delete(name);
    return addresses;
  }

  /**
   * Opens these ports of the VM, and no others. Resolves with its address; undefined: it does not run here,
   * or its ports cannot be opened, which keeps no other VM from its requests.
   */
  async #opened(vm: VmOf, ports: readonly number[]): Promise<string | undefined> {
    const vms = this.#vms;
    const name = nameOf(vm);
    const isOpen =
      vms.addressOf(vm) === undefined ||
      this.#published.get(name)?.ports === ports.join() ||
      (await this.#publish(vm, ports));
    const address = isOpen ? vms.addressOf(vm) : undefined;
    if (address === undefined || ports.length === 0) this.#published.delete(name);
    else this.#published.set(name, { vm, ports: ports.join() });
    return address;
  }

  async #publish(vm: VmOf, ports: readonly number[]): Promise<boolean> {
    try {
      await this.#vms.publish(vm, ports);
      this.#closed.delete(nameOf(vm));
      return true;
    } catch (error) {
      if (this.#vms.addressOf(vm) !== undefined && !this.#closed.has(nameOf(vm))) {
        this.#closed.add(nameOf(vm));
        this.#log.warn({ err: error, vm: vm.vm }, "ports of a microVM cannot be opened to the proxy of apps");
      }
      return false;
    }
  }
}

function nameOf({ vm, execution_id }: VmOf): string {
  return `${vm} ${execution_id}`;
}
