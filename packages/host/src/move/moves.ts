// VMs on their way to and from this host. Both ends of a move are kept like any other VM by the engine: one
// that leaves runs until it is destroyed, one that arrives is being created until it runs.

import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import { incompatibility } from "@skerry/contract/moves/host-compatibility";
import type { Vm } from "@skerry/contract/host-api/vm";
import type {
  ArrivalNeeds,
  ArrivalOrder,
  Departed,
  DepartureOrder,
  VmManifest,
  ResumeOrder,
} from "@skerry/contract/host-api/move-calls";
import type { HostCompatibility } from "@skerry/contract/moves/host-compatibility";
import { findSize, type Size } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import { wakeGuest } from "../guest/agent.ts";
import type { TemplateLibrary } from "../templates/library.ts";
import type { InFlightMoves } from "../vm/adoption/find-vms.ts";
import { pathsOf } from "../vm/disk/backing-files.ts";
import { diskGibOf } from "../vm/start/boot.ts";
import { adoptClone, type LiveVm } from "../vm/start/clone.ts";
import { takeSlot } from "../vm/creation/creation.ts";
import type { NewVm } from "../vm/creation/new-vm.ts";
import type { VmEngine } from "../vm/engine/engine.ts";
import type { Running } from "../vm/lifecycle/vm-table.ts";
import { limitUse, uidOf, type HostResources } from "../vm/record/vm-resources.ts";
import { vmPaths } from "../vm/qemu/qemu-arguments.ts";
import { HUNG_AFTER_MS, Qmp, QmpError } from "../vm/qemu/qmp.ts";
import { shown, type VmRecord } from "../vm/record/record.ts";
import { Arrival } from "./arrival.ts";
import { Departure } from "./departure.ts";
import type { Layers } from "../vm/disk/layers.ts";
import type { Peers } from "./peers.ts";
import { cancelMigration } from "../vm/qemu/migration.ts";

export interface MovesOptions {
  readonly engine: VmEngine;
  readonly resources: HostResources;
  readonly library: TemplateLibrary;
  readonly layers: Layers;
  readonly peers: Peers;
  /** Of what is started here now. */
  readonly compatibility: () => Promise<HostCompatibility>;
  readonly vmsFolder: string;
  readonly instance: string;
  readonly log: Logger;
}

/** One that stands still because it is elsewhere already, found by a host process that did not send it. */
interface SentVm {
  readonly moveId: string;
  readonly executionId: string;
  readonly goesOn: PromiseWithResolvers<void>;
  readonly done: Promise<Vm>;
}

interface Arriving {
  readonly executionId: string;
  readonly arrival: Arrival;
  /** Resolves when it goes on here. */
  readonly done: Promise<Vm>;
}

export class HostMoves implements InFlightMoves {
  readonly #options: MovesOptions;
  readonly #departures = new Map<string, Departure>();
  readonly #sent = new Map<string, SentVm>();
  readonly #arrivals = new Map<string, Arriving>();

  constructor(options: MovesOptions) {
    this.#options = options;
  }

  async manifest(id: string, executionId: string): Promise<VmManifest> {
    const { engine, layers } = this.#options;
    const { record } = await engine.usable(id, executionId);
    const { below } = record;
    if (record.build !== undefined)
      throw new SkerryError("move_refused", "A VM in which a template is built stays on its host.");
    if (below === undefined) {
      throw new SkerryError(
        "move_refused",
        "The VM is from a version of the host that did not move VMs yet.",
      );
    }
    return {
      template: record.template,
      size: record.size,
      compatibility: await this.#compatibilityOf(record),
      ...(record.machine === undefined ? {} : { machine: { command: record.machine.command } }),
      disk_gib: await diskGibOf(below),
      below: await layers.digestsBelow(below).catch((error: unknown) => {
        throw new SkerryError("move_refused", "A file that the VM's disk stands on is gone.", {
          cause: error,
        });
      }),
    };
  }

  /** Takes the resources for the VM. The same order twice is one arrival. */
  async receive(id: string, order: ArrivalOrder): Promise<ArrivalNeeds> {
    const { engine, compatibility } = this.#options;
    await engine.adopted(id);
    const here = await compatibility(); // no wait between the next line and `#begin`: an order that comes twice is one arrival
    const known = this.#arrivals.get(id);
    if (known?.executionId === order.execution_id) return known.arrival.needs;
    const size = findSize(order.manifest.size);
    if (size === undefined) throw new SkerryError("move_refused", "This host does not know the VM's size.");
    const fault = incompatibility(order.manifest.compatibility, here);
    if (fault !== undefined) throw new SkerryError("move_refused", `The VM cannot go on here: ${fault}.`);
    if (engine.has(id))
      throw new SkerryError("stale_execution", "Another incarnation of this VM is on this host.");
    const record = this.#recordOf(id, order, here);
    const arrival = new Arrival(this.#options, order);
    this.#begin(record, arrival, size);
    return arrival.needs;
  }

  /** Resolves when disk and memory are complete here. */
  async whole(id: string, executionId: string): Promise<void> {
    await this.#options.engine.adopted(id);
    const known = this.#arrivals.get(id);
    if (known?.executionId === executionId) return known.arrival.whole;
    this.#options.engine.running(id, executionId); // runs here already; otherwise this throws
  }

  async resume(id: string, order: ResumeOrder): Promise<Vm> {
    await this.#options.engine.adopted(id);
    const known = this.#arrivals.get(id);
    if (known?.executionId === order.execution_id) {
      known.arrival.resume(order);
      return known.done;
    }
    const { record } = this.#options.engine.running(id, order.execution_id); // runs already; otherwise this throws
    return shown(record);
  }

  /** The arrival that receives what the source sends. */
  arrival(id: string): Arrival {
    const known = this.#arrivals.get(id);
    // The same error as for a wrong ticket, so that a caller without one does not learn which VMs arrive.
    if (known === undefined) throw new SkerryError("forbidden", "The ticket is not good for this.");
    return known.arrival;
  }

  /** Resolves when the target has the whole VM. A repeated call waits for the same departure. */
  async depart(id: string, order: DepartureOrder): Promise<Departed> {
    await this.#options.engine.adopted(id);
    const sent = this.#sent.get(id);
    if (sent?.moveId === order.move_id) return { still_ms: 0, disk_bytes: 0, memory_bytes: 0 };
    const resident = this.#options.engine.running(id, order.execution_id);
    const departure = this.#departures.get(id) ?? this.#send(resident, order);
    if (departure.moveId !== order.move_id)
      throw new SkerryError("move_refused", "Another move of this VM is under way.");
    return departure.done;
  }

  /** Resolves when the VM runs here again; at once where it is not on this host. */
  async stay(id: string, moveId: string): Promise<void> {
    await this.#options.engine.adopted(id);
    const sent = this.#sent.get(id);
    if (sent?.moveId === moveId) {
      sent.goesOn.resolve();
      await sent.done;
      return;
    }
    const departure = this.#departures.get(id);
    if (departure?.moveId === moveId) await departure.stay();
  }

  /** Layers that came with VMs that are gone. */
  unusedLayers(below: ReadonlySet<string>): Promise<string[]> {
    return this.#options.layers.unused(below);
  }

  /** Called for a complete arrival that a new host process finds. */
  arrived(record: VmRecord, size: Size): void {
    this.#begin(record, new Arrival(this.#options, undefined), size);
  }

  /** Called for a VM that was sent completely before this host process started. */
  sent(record: VmRecord, moveId: string): void {
    const goesOn = Promise.withResolvers<void>();
    const done = this.#options.engine.begin(record, async (newVm, signal) => {
      const live = await goOn(newVm, goesOn.promise, signal);
      await limitUse(this.#options.resources, record, "runs");
      return live;
    });
    const entry = { moveId, executionId: record.execution_id, goesOn, done };
    this.#sent.set(record.id, entry);
    const forget = (): void => void (this.#sent.get(record.id) === entry && this.#sent.delete(record.id));
    done.then(forget, forget);
  }

  #send(resident: Running, order: DepartureOrder): Departure {
    const { engine, resources, layers, peers, log } = this.#options;
    const { id, execution_id } = resident.record;
    const ref = { id, execution_id };
    const { below } = resident.record;
    const own = below === undefined ? [] : pathsOf(below);
    const departure = new Departure({
      ...{ live: resident.live, guestHalt: resident.guestHalt, order, peers, log },
      record: resident.record,
      uid: uidOf(resources, resources.slots.slot(resident.record.slot)),
      // Written before the first command to QEMU: a host that is killed in between must not resume a guest
      // that runs elsewhere.
      begin: async () => {
        await engine.change(ref, (record) => ({ ...record, departure: { move_id: order.move_id } }));
        await limitUse(resources, resident.record, "leaves");
      },
      layer: async (digest) => {
        const file = await layers.find(digest, own);
        if (file === undefined) throw new SkerryError("move_refused", "The VM does not stand on this layer.");
        return layers.read(file);
      },
      goneOn: async () => {
        await limitUse(resources, resident.record, "runs");
        await engine.change(ref, ({ departure: _over, ...record }) => record);
        this.#departures.delete(id);
      },
    });
    this.#departures.set(id, departure);
    void resident.live.qmp.closed.then(
      () => this.#departures.get(id) === departure && this.#departures.delete(id),
    );
    return departure;
  }

  #begin(record: VmRecord, arrival: Arrival, size: Size): void {
    const done = this.#options.engine.begin(record, (newVm, signal) => arrival.bringUp(newVm, size, signal));
    const entry = { executionId: record.execution_id, arrival, done };
    this.#arrivals.set(record.id, entry);
    const forget = (): void =>
      void (this.#arrivals.get(record.id) === entry && this.#arrivals.delete(record.id));
    done.then(forget, forget);
  }

  #recordOf(id: string, order: ArrivalOrder, here: HostCompatibility): VmRecord {
    const { resources, vmsFolder, instance } = this.#options;
    const { template, size, machine, compatibility: theirs } = order.manifest;
    return {
      ...{ id, execution_id: order.execution_id, template, size },
      ...{ status: "creating", reason: null, started_at: new Date().toISOString() },
      name: `${instance}:${id}:${order.execution_id}`,
      folder: join(vmsFolder, id),
      slot: takeSlot(resources.slots),
      process: undefined,
      ...{ egress: order.egress, egress_version: order.egress_version },
      ...(machine === undefined ? {} : { machine: { ...machine, keeps_disk: false, stopping: false } }),
      arrival: { move_id: order.move_id, whole: false },
      // The guest keeps the TSC rate of the host that it was started on, over any number of moves.
      started_with: { ...here, tsc_khz: theirs.tsc_khz },
    };
  }

  async #compatibilityOf({ started_with, tsc_khz }: VmRecord): Promise<HostCompatibility> {
    if (started_with !== undefined) return started_with;
    const today = await this.#options.compatibility();
    return tsc_khz === undefined ? today : { ...today, tsc_khz };
  }
}

/** Waits for control's decision that the guest runs here. */
async function goOn(newVm: NewVm, decided: Promise<void>, signal: AbortSignal): Promise<LiveVm> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(HUNG_AFTER_MS)]);
  const qmp = await Qmp.connect(join(newVm.record.folder, vmPaths.qmp), deadline, HUNG_AFTER_MS);
  try {
    const lost = Promise.withResolvers<never>();
    lost.promise.catch(() => undefined);
    signal.addEventListener("abort", () => lost.reject(signal.reason as Error), { once: true });
    void qmp.closed.then(() => lost.reject(new QmpError("its QEMU has ended")));
    await Promise.race([decided, lost.promise]);
    await cancelMigration(qmp);
  } finally {
    qmp.close();
  }
  const live = await adoptClone(newVm.record, { deadlineMs: HUNG_AFTER_MS, signal });
  await wakeGuest(live.channel);
  const { departure: _over, ...record } = newVm.record;
  newVm.record = record;
  return live;
}
