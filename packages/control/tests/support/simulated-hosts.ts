// Hosts that live in this process, behind the same client that control calls real ones with. A thousand of them need no socket.

import { sql } from "kysely";
import { Pool } from "undici";
import { SkerryError } from "@skerry/contract/errors";
import type { HostInfo } from "@skerry/contract/host-api/host-info";
import type { EdgeDocument, EdgeState } from "@skerry/contract/host-api/edge";
import type { Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { newId } from "@skerry/contract/ids";
import { EdgeCalls } from "../../src/host-client/edge-calls.ts";
import { HostClient } from "../../src/host-client/host-client.ts";
import type { VmRef } from "../../src/host-client/vm-ref.ts";
import { HostTransport } from "../../src/host-client/host-transport.ts";
import { HostDirectory } from "../../src/host-client/host-directory.ts";
import type { Database } from "../../src/db/database.ts";

/** Never connects: every call that it would carry is answered here. */
const unused = new Pool("http://simulated");

const template = {
  id: "tpl_00000000000000000000000001",
  name: "base",
  description: "x",
  disk_gib: 1,
  status: "ready",
} as const;

/** A proxy that serves each document at once. */
class SimulatedEdge extends EdgeCalls {
  #document: EdgeDocument = { version: 0, backends: [], routes: [] };

  constructor() {
    super(new HostTransport(unused));
  }

  override async serve(document: EdgeDocument): Promise<EdgeState> {
    this.#document = document;
    return this.state();
  }

  override async state(): Promise<EdgeState> {
    const { version, backends } = this.#document;
    const instances = backends.flatMap(({ id, instances: all }) =>
      all.map(({ vm, execution_id, port, state }) => ({
        ...{ backend: id, vm, execution_id, port, status: state, sessions: 0 },
      })),
    );
    return { version, fault: null, instances };
  }
}

export class SimulatedHost extends HostClient {
  readonly id = newId("host");
  readonly name: string;
  readonly vms = new Map<string, Vm>();
  /** Nobody reaches it; what runs there runs on. */
  silent = false;
  ended = 0;
  override readonly edge = new SimulatedEdge();
  /** Every incarnation that was ever started here. */
  readonly started = new Set<string>();

  constructor(name: string) {
    super({ pool: unused, lasting: unused });
    this.name = name;
  }

  get address(): string {
    return `simulated:${this.id}`;
  }

  /** A VM that dies of its own. */
  end(id: string): void {
    const vm = this.vms.get(id);
    if (vm?.status !== "running") return;
    this.vms.set(id, { ...vm, status: "gone", reason: "the guest panicked", cause: "guest_panicked" });
    this.ended += 1;
  }

  override async info(): Promise<HostInfo> {
    this.#reach();
    return {
      name: this.name,
      version: "0",
      accelerator: "tcg",
      accelerator_reason: "simulated",
      qemu_version: "0",
      kernel_version: "0",
      resource_limits: "none",
      cpus: 64,
      memory_mib: 262_144,
      templates: [template],
      ended: this.ended,
    };
  }

  override async listVms(): Promise<readonly Vm[]> {
    this.#reach();
    return [...this.vms.values()];
  }

  override async startVm(id: string, spec: VmSpec): Promise<Vm> {
    this.#reach();
    const vm: Vm = {
      id,
      execution_id: spec.execution_id,
      template: spec.template,
      size: spec.size,
      status: "running",
      reason: null,
      started_at: new Date().toISOString(),
    };
    const known = this.vms.get(id);
    if (known?.status === "running" && known.execution_id !== spec.execution_id) {
      throw new SkerryError("stale_execution", "another incarnation runs");
    }
    this.vms.set(id, vm);
    this.started.add(spec.execution_id);
    return vm;
  }

  override async destroyVm(vm: VmRef): Promise<void> {
    this.#reach();
    if (this.vms.get(vm.id)?.execution_id === vm.execution_id) this.vms.delete(vm.id);
  }

  override async stopVm(vm: VmRef): Promise<Vm> {
    this.#reach();
    const known = this.vms.get(vm.id);
    if (known === undefined) throw new SkerryError("vm_not_found", "no such VM");
    if (known.execution_id !== vm.execution_id) {
      throw new SkerryError("stale_execution", "another incarnation");
    }
    const stopped: Vm = { ...known, status: "stopped" };
    this.vms.set(vm.id, stopped);
    return stopped;
  }

  #reach(): void {
    if (this.silent) throw new SkerryError("host_unavailable", "The host cannot be reached.");
  }
}

export class SimulatedHosts extends HostDirectory {
  readonly all: readonly SimulatedHost[];
  readonly #byAddress: ReadonlyMap<string, SimulatedHost>;

  constructor(count: number) {
    super(() => Promise.reject(new Error("there is no authority")));
    this.all = Array.from({ length: count }, (_, index) => new SimulatedHost(`simulated-${index}`));
    this.#byAddress = new Map(this.all.map((host) => [host.address, host]));
  }

  override client(address: string): HostClient {
    return this.#byAddress.get(address) ?? super.client(address);
  }

  /** Their rows, as a join writes them. They are offline until they are asked. */
  async join(db: Database): Promise<void> {
    await sql`
      insert into hosts (id, name, address, status, cpus, memory_mib, templates, facts, last_heartbeat, joined)
      select id, name, address, 'offline', 0, 0, '[]', '{}', now(), true
      from unnest(
        ${this.all.map(({ id }) => id)}::text[], ${this.all.map(({ name }) => name)}::text[],
        ${this.all.map(({ address }) => address)}::text[]
      ) as joined (id, name, address)`.execute(db);
  }
}

const MACHINES_AT_ONCE = 1;

/** So many running machines on each host, those of each of another organization; written past the API. */
export async function fillWithMachines(db: Database, perHost: number): Promise<void> {
  await sql`insert into organizations (id, name) select 'org_' || substr(id, 5), name from hosts`.execute(db);
  // No statement of control's takes long, and its connections hold it to that.
  for (let from = 1; from <= perHost; from += MACHINES_AT_ONCE) {
    const to = Math.min(perHost, from + MACHINES_AT_ONCE - 1);
    await sql`
      insert into machines (id, org_id, template, size, vcpus, memory_mib, disk_gib, status, execution_id, host_id, env,
                            metadata, egress, stop_timeout_ms, restart_policy, restart_max_retries, restart_disk, started_at)
      select 'mch_' || substr(h.id, 5, 18) || lpad(n::text, 8, '0'), 'org_' || substr(h.id, 5), 'base', 'shared-cpu-1x', 1, 256, 1, 'running',
             'exe_' || n, h.id, '{}', '{}', '{}', 10000, 'on-failure', 10, 'disposable', now()
      from hosts h, generate_series(${from}::integer, ${to}::integer) n`.execute(db);
  }
  await sql`analyze machines`.execute(db);
}

/** As if the host had been asked in vain for long enough. */
export async function silence(db: Database, hostId: string): Promise<void> {
  await sql`
    update hosts set last_heartbeat = now() - interval '31 s', silent_since = now() - interval '21 s', silent_until = now()
    where id = ${hostId}`.execute(db);
}
