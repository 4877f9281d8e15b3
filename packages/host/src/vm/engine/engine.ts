// The VMs of this host. VMs are created only here; vm-lifecycle.ts watches the running ones and ends them.
// The folders under `vms/` hold the state on disk and the QEMU processes the state in the kernel; this class
// keeps the two in step and survives being killed at any line.

import { join } from "node:path";
import type { HostEgressReport } from "@skerry/contract/vms/egress";
import { SkerryError } from "@skerry/contract/errors";
import type { HostSnapshot, PauseVm, SnapshotVm } from "@skerry/contract/host-api/snapshots";
import type { VmSamples } from "@skerry/contract/host-api/metrics";
import type { EgressChange, StopVm, Vm, VmSpec } from "@skerry/contract/host-api/vm";
import { findSize } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import type { TemplateLibrary } from "../../templates/library.ts";
import { Adopter } from "../adoption/adopter.ts";
import { claimSlotsOnly, findVms, type Found, type InFlightMoves } from "../adoption/find-vms.ts";
import type { EndReason } from "../lifecycle/end-reason.ts";
import { boundedWait } from "../lifecycle/bounded-wait.ts";
import { useGuest, type GuestUse } from "../lifecycle/guest-use.ts";
import { VmLifecycle } from "../lifecycle/vm-lifecycle.ts";
import { bringUp, finishWaking, recordFor } from "../creation/creation.ts";
import type { OnFrozen, VmRequest } from "../creation/creation-request.ts";
import { Creations, type Bring } from "../creation/creations.ts";
import { readOrigin } from "../creation/from-saved.ts";
import { isAsSaved } from "../saved/going-on.ts";
import { PauseRequests } from "../saved/pause-requests.ts";
import type { Snapshots, TakeOptions } from "../saved/snapshots.ts";
import {
  VmTable,
  hostIsEnding,
  onlyMachines,
  otherThere,
  type Adopting,
  type VmEntry,
  type Running,
} from "../lifecycle/vm-table.ts";
import type { HostResources } from "../record/vm-resources.ts";
import { changePolicy, reportPolicy } from "../lifecycle/egress-policy.ts";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import { allBackingFiles } from "./all-backing-files.ts";
import { keepsDisk, saveRecord, shown, type VmRecord } from "../record/record.ts";
import { type RecordOwner } from "../record/read-records.ts";
import { readSamples } from "../metrics/sample-file.ts";
import { RunningVms } from "./running-vms.ts";
import { KeyedQueue } from "../../system/keyed-queue.ts";
import { diskGone } from "../lifecycle/unreadable.ts";
import { EndRequests } from "./end-requests.ts";
import type { Layers } from "../disk/layers.ts";
import type { OwnTemplates } from "../../templates/own-templates.ts";
import type { WarmPool } from "../warm/warm-pool.ts";

export interface EngineOptions {
  readonly resources: HostResources;
  readonly library: TemplateLibrary;
  readonly layers: Layers;
  readonly own: Pick<OwnTemplates, "backingFiles">;
  readonly pool: WarmPool;
  readonly snapshots: Snapshots;
  readonly vmsFolder: string;
  readonly instance: string;
  readonly owner: RecordOwner;
  readonly log: Logger;
}

export class VmEngine {
  readonly runningVms: RunningVms;
  readonly #options: EngineOptions;
  readonly #table = new VmTable();
  /** Work on a running VM's slot: one at a time, and the slot is not released while it is under way. */
  readonly #slotWork = new KeyedQueue();
  readonly #lifecycle: VmLifecycle;
  readonly #adopter: Adopter;
  readonly #requests: EndRequests;
  readonly #pauses: PauseRequests;
  readonly #creations: Creations;

  constructor(options: EngineOptions) {
    const { resources, log } = options;
    const parts = { resources, table: this.#table, slotWork: this.#slotWork, log };
    this.#options = options;
    this.runningVms = new RunningVms(this.#table, resources.slots);
    this.#lifecycle = new VmLifecycle({ ...parts, isAsSaved });
    this.#creations = new Creations(this.#table, this.#lifecycle);
    this.#adopter = new Adopter({ ...parts, lifecycle: this.#lifecycle });
    this.#requests = new EndRequests({
      ...options,
      table: this.#table,
      lifecycle: this.#lifecycle,
      adopter: this.#adopter,
    });
    this.#pauses = new PauseRequests({ ...parts, lifecycle: this.#lifecycle });
  }

  list(): Vm[] {
    return this.#table.all.map((entry) => shown(entry.record));
  }

  /** What was measured of any life of a VM. */
  samples(id: string, sinceMs: number): Promise<VmSamples> {
    return readSamples(this.#table.known(id).record.folder, sinceMs, Date.now());
  }

  get(id: string): Vm {
    return shown(this.#table.known(id).record);
  }

  /** Where a machine's console is kept, also while it does not run. */
  consoleFile(id: string): string {
    const { record } = onlyMachines(this.#table.known(id), "its console is not kept");
    return join(record.folder, vmPaths.console);
  }

  /** Changes whenever a VM has ended by itself, and with each start of the host. */
  get ended(): number {
    return this.#lifecycle.ended;
  }

  /** Guest memory of all VMs that run or begin, MiB. */
  get memoryMib(): number {
    return this.#table.memoryMib;
  }

  /** This host process is ending. */
  get isClosing(): boolean {
    return this.#lifecycle.isClosing;
  }

  /** Whether a VM is being created. */
  get isBusy(): boolean {
    return this.#table.all.some(({ state }) => state === "creating");
  }

  /** The VM, made now unless this incarnation of it is there. Resolves once its agent has answered, or
   *  when a clone that waited was taken for it: then it is being woken, and operations on it wait until it
   *  runs. `onFrozen` is called where it has to wait for its template. */
  async put(id: string, spec: VmSpec, onFrozen?: OnFrozen): Promise<Vm> {
    if (this.#options.resources.slots.exhausted) await this.#options.pool.giveUp(1);
    const entry = this.#table.find(id);
    if (entry === undefined) {
      if (spec.machine?.disk === "kept") throw diskGone();
      return this.#begin(id, spec, { onFrozen });
    }
    if (spec.from?.kind === "paused" && entry.record.status === "paused") return this.#goOn(entry, spec);
    if (entry.state === "unreadable" || entry.record.execution_id !== spec.execution_id)
      return this.#putNext(entry, spec, onFrozen);
    if (entry.state === "creating") return entry.done;
    return shown((await this.usable(id, spec.execution_id)).record);
  }

  /** A machine's next incarnation, once nothing is left of the one before but its disk; or that of a sandbox, once
   *  nothing is left of the one before. */
  async #putNext(entry: VmEntry, spec: VmSpec, onFrozen: OnFrozen | undefined): Promise<Vm> {
    const { id } = entry.record;
    if (spec.machine === undefined) return this.#replaceSandbox(entry, spec, onFrozen);
    if (!keepsDisk(entry.record)) throw otherThere();
    const isOver = entry.state === "ended" && entry.pendingCleanup === undefined;
    if (isOver && spec.machine.disk !== "new") return this.#begin(id, spec, { kept: entry.record });
    await this.#requireOrigin(spec);
    await this.#requests.clear(entry, spec.machine);
    return this.put(id, spec, onFrozen);
  }

  /** A later incarnation that begins at a snapshot takes the place of the sandbox. A host process that ends after the
   *  destruction leaves nothing of either: control has written down what was to begin, and asks for it again. */
  async #replaceSandbox(
    { record: { id, execution_id } }: VmEntry,
    spec: VmSpec,
    onFrozen: OnFrozen | undefined,
  ): Promise<Vm> {
    // Execution ids sort by time: a request that comes late replaces nothing newer.
    if (spec.from?.kind !== "snapshot" || spec.execution_id < execution_id) throw otherThere();
    await this.#requireOrigin(spec);
    await this.#requests.destroy(id, execution_id);
    return this.put(id, spec, onFrozen);
  }

  /** What there is is given up only for what can begin. */
  async #requireOrigin(spec: VmSpec): Promise<void> {
    const size = findSize(spec.size);
    if (spec.from === undefined || size === undefined) return;
    await readOrigin(this.#options, { spec, size, warm: undefined }, spec.from);
  }

  /** A paused sandbox's next life, once nothing is left of the one before but its files. */
  async #goOn(entry: VmEntry, spec: VmSpec): Promise<Vm> {
    const { id } = entry.record;
    if (entry.state === "ending" || entry.state === "creating") {
      await entry.done.catch(() => undefined);
      return this.put(id, spec);
    }
    if (entry.state !== "ended") throw otherThere();
    if (entry.pendingCleanup === undefined) return this.#begin(id, spec, { paused: entry.record });
    await this.#lifecycle.end(entry.pendingCleanup.record, entry.pendingCleanup.end);
    return this.put(id, spec);
  }

  /** Pauses this incarnation of a sandbox. */
  pause(id: string, order: PauseVm): Promise<Vm> {
    return this.#pauses.pause(id, order);
  }

  /** The record of the sandbox that is paused under this id. */
  paused(id: string): VmRecord {
    const entry = this.#table.known(id);
    const isPaused = entry.state === "ended" && entry.pendingCleanup === undefined;
    if (isPaused && entry.record.status === "paused") return entry.record;
    throw new SkerryError("vm_not_running", "Nothing is paused under this id on this host.");
  }

  /** A sandbox that was paused elsewhere and whose files have come. */
  addPaused(record: VmRecord): void {
    this.#table.set({ state: "ended", record });
  }

  /** A snapshot of this incarnation, which goes on. */
  async snapshot(
    id: string,
    { execution_id, snapshot_id }: SnapshotVm,
    onStill?: TakeOptions["onStill"],
  ): Promise<HostSnapshot> {
    const { resources, snapshots } = this.#options;
    const entry = await this.usable(id, execution_id);
    const taking = snapshots.take(snapshot_id, entry, { resources, slotWork: this.#slotWork, onStill });
    return taking.catch(async (error: unknown) => {
      throw await this.#lifecycle.whyFailed(entry, error);
    });
  }

  /** Adds a VM that `bring` creates. */
  begin(record: VmRecord, bring: Bring): Promise<Vm> {
    return this.#creations.begin(record, bring);
  }

  /** Any incarnation, in any state. */
  has(id: string): boolean {
    return this.#table.find(id) !== undefined;
  }

  /** Changes the record of a running VM. */
  change(ref: Pick<Vm, "id" | "execution_id">, work: (record: VmRecord) => VmRecord): Promise<void> {
    return this.#onSlot(ref.id, ref.execution_id, async (entry) => {
      const record = work(entry.record);
      await saveRecord(record);
      entry.record = record;
    });
  }

  /** The guest of this incarnation, kept running until the returned value is disposed of. */
  async use(id: string, executionId: string): Promise<GuestUse> {
    const entry = await this.usable(id, executionId);
    return useGuest(this.#lifecycle, entry, (guestHalt) => guestHalt.use());
  }

  /** The same for what may last as long as it likes: `leave` is called when a move wants the guest, which waits until it is disposed of. */
  async useUntilHeld(id: string, executionId: string, leave: () => void): Promise<GuestUse> {
    const entry = await this.usable(id, executionId);
    return useGuest(this.#lifecycle, entry, (guestHalt) => guestHalt.useUntilHeld(leave));
  }

  setEgress(id: string, change: EgressChange): Promise<HostEgressReport> {
    return this.#onSlot(id, change.execution_id, (vm) => changePolicy(this.#options.resources, vm, change));
  }

  egress(id: string, executionId: string): Promise<HostEgressReport> {
    return this.#onSlot(id, executionId, (vm) => reportPolicy(this.#options.resources, vm));
  }

  /** Nothing where it does not run any more. */
  async giveUp({ id, execution_id }: Pick<Vm, "id" | "execution_id">, end: EndReason): Promise<void> {
    const entry = this.#table.find(id);
    if (entry?.state !== "running" || entry.ending !== undefined) return;
    if (entry.record.execution_id === execution_id) await this.#lifecycle.giveUp(entry, end);
  }

  /** Stops this incarnation of a machine with a grace period and keeps its disk. One that has ended by
   *  itself keeps its status. */
  stop(id: string, order: StopVm): Promise<Vm> {
    return this.#requests.stop(id, order);
  }

  /**
   * The slot of this incarnation, also while this process is not connected to it yet. Undefined: it does not
   * run here.
   */
  slotOf(id: string, executionId: string): number | undefined {
    return this.#table.slotOf(id, executionId);
  }

  running(id: string, executionId: string): Running {
    return this.#table.running(id, executionId);
  }

  /** Waits for a VM that is being created or adopted. Where that fails, the error comes from its entry. */
  async usable(id: string, executionId: string): Promise<Running> {
    for (;;) {
      const entry = this.#table.of(id, executionId);
      this.#lifecycle.requireOpen();
      if (entry.state !== "creating" && entry.state !== "adopting") return this.running(id, executionId);
      await boundedWait(entry, entry.done);
      if (this.#table.holds(entry)) throw hostIsEnding();
    }
  }

  /** Looks the entry up again when its turn comes: the slot of a VM that has ended is free, or belongs to
   *  another VM. */
  async #onSlot<T>(
    id: string,
    executionId: string,
    work: (entry: Running | Adopting) => Promise<T>,
  ): Promise<T> {
    const entry = this.#table.of(id, executionId);
    // The policy belongs to the slot: a guest that does not answer must not prevent a change of its own
    // policy.
    if (entry.state === "creating") await entry.done.catch(() => undefined);
    return this.#slotWork.take(id, () => work(this.#table.governed(id, executionId)));
  }

  /** Destroys this incarnation. Succeeds also where the VM is not there, or is another incarnation, which
   *  stays. */
  destroy(id: string, executionId: string): Promise<void> {
    return this.#requests.destroy(id, executionId);
  }

  /** Finds the VMs of an earlier host process. Running ones are adopted in the background, and the
   *  resources of ended ones are released there. Call it once, first. */
  adopt(moves: InFlightMoves): Promise<Found> {
    const { resources } = this.#options;
    const lifecycle = this.#lifecycle;
    return findVms(this.#options, {
      running: (record) => this.#adopter.begin(record, (still, moveId) => moves.sent(still, moveId)),
      waking: (record, waking) =>
        void this.begin(record, (newVm, signal) => finishWaking(resources, newVm, waking, signal)),
      arrived: (record, size) => moves.arrived(record, size),
      ended: (record) => this.#table.set({ state: "ended", record }),
      unreadable: (record, isKept) => this.#table.set({ state: "unreadable", record, isKept }),
      end: (record, end) => void lifecycle.endUnasked(record, end),
    });
  }

  /** Takes the slots of all VMs and does not adopt them. Resolves with their number. */
  claimSlots(): Promise<number> {
    return claimSlotsOnly(this.#options);
  }

  /** Resolves when the adoption of this VM has ended. */
  async adopted(id: string): Promise<void> {
    const entry = this.#table.find(id);
    if (entry?.state === "adopting") await entry.done;
  }

  /** Files that templates, and the disks of VMs, are based on, also of VMs that do not run; undefined where
   *  it is not known for every one. */
  async allBackingFiles(): Promise<Set<string> | undefined> {
    const { vmsFolder, owner, snapshots, own } = this.#options;
    const ofDisks = await allBackingFiles(vmsFolder, owner);
    // Read last: a layer that a VM has sealed may be a template's by then.
    const [ofSnapshots, ofTemplates] = [snapshots.backingFiles(), own.backingFiles()];
    if (ofDisks === undefined || ofSnapshots === undefined || ofTemplates === undefined) return undefined;
    return new Set([...ofDisks, ...ofSnapshots, ...ofTemplates]);
  }

  /** Writes a new record for a machine whose record is damaged; its next start boots from its disk. */
  recover(id: string): Promise<Vm> {
    return this.#requests.recover(id);
  }

  /** Lets go of all VMs; they run on, and the next host process adopts them. */
  close(): void {
    this.#lifecycle.close();
    for (const entry of this.#table.all) {
      if (entry.state === "adopting") entry.abort.abort();
      if (entry.state !== "running") continue;
      entry.live.qmp.close();
      entry.live.channel.letGo();
    }
  }

  #begin(id: string, asked: VmSpec, how: Pick<VmRequest, "kept" | "paused" | "onFrozen">): Promise<Vm> {
    const { library } = this.#options;
    // Before the warm pool, in which clones of a template that was taken off this host may wait.
    if (how.kept === undefined && asked.from === undefined)
      library.require(asked.template, { isBuild: asked.build !== undefined });
    const env = { ...library.envOf(asked.template), ...asked.env };
    const spec = { ...asked, env };
    const size = findSize(spec.size);
    if (size === undefined) throw new SkerryError("unknown_size", `There is no size "${spec.size}".`);
    const warm =
      spec.machine === undefined && spec.from === undefined && spec.build === undefined
        ? this.#options.pool.take(spec.template, size)
        : undefined;
    const request = { spec, size, warm, ...how };
    const record = recordFor(this.#options, id, request);
    return this.begin(record, (newVm, signal) => bringUp(this.#options, newVm, request, signal));
  }
}
