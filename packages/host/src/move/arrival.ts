// The target's side of one move. It takes a slot and loads the policy, then receives the layers under the
// VM's disk, then starts a QEMU that receives disk and memory and does not run the guest. The guest runs here
// only after control's resume order; until then it may run at the source.

import { createHash, timingSafeEqual } from "node:crypto";
import { chmod, chown, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { addAbortSignal, type Duplex, type Readable } from "node:stream";
import { SkerryError } from "@skerry/contract/errors";
import type {
  ArrivalNeeds,
  ArrivalOrder,
  MoveStream,
  ResumeOrder,
} from "@skerry/contract/host-api/move-calls";
import type { Size } from "@skerry/contract/sizes";
import { wakeGuest } from "../guest/agent.ts";
import { GuestChannel } from "../guest/channel.ts";
import { emptyQcow2 } from "../templates/frozen.ts";
import type { TemplateLibrary } from "../templates/library.ts";
import type { LiveVm } from "../vm/start/clone.ts";
import type { NewVm } from "../vm/creation/new-vm.ts";
import { makeNewFolder } from "../vm/creation/steps.ts";
import { diskFiles, saveBackingFiles, type BackingFiles } from "../vm/disk/backing-files.ts";
import { watchDiskReserve, checkDiskReserve } from "../vm/disk/disk-reserve.ts";
import { startQemu, uidOf, type HostResources } from "../vm/record/vm-resources.ts";
import { emptyMemory } from "../vm/qemu/empty-memory.ts";
import { vmPaths } from "../vm/qemu/qemu-arguments.ts";
import { ANSWER_DEADLINE_MS, HUNG_AFTER_MS, Qmp, QmpError, runState } from "../vm/qemu/qmp.ts";
import { saveRecord } from "../vm/record/record.ts";
import { syncFolder } from "../system/sync-folder.ts";
import type { Layers } from "../vm/disk/layers.ts";
import { LayerReceiver } from "./layer-receiver.ts";
import { splice } from "./peers.ts";
import { arrived, awaitArrival, moveSockets } from "../vm/qemu/migration.ts";

export interface ArrivalOptions {
  readonly resources: HostResources;
  readonly library: TemplateLibrary;
  readonly layers: Layers;
  readonly vmsFolder: string;
}

type Policy = Pick<ResumeOrder, "egress" | "egress_version">;

const CHANNEL_DEADLINE_MS = 7_000;
const CHANNEL_ATTEMPTS = 4;

export class Arrival {
  readonly #options: ArrivalOptions;
  readonly #order: ArrivalOrder | undefined;
  readonly #needs = Promise.withResolvers<ArrivalNeeds>();
  readonly #layerReceiver: LayerReceiver;
  readonly #ready = Promise.withResolvers<void>();
  readonly #memoryComes = Promise.withResolvers<void>();
  readonly #whole = Promise.withResolvers<void>();
  readonly #resumed = Promise.withResolvers<Policy>();
  /** Aborts when the arrival has ended: nothing more is received. */
  readonly #over = new AbortController();
  /** The streams and layers for which the ticket was used. */
  readonly #taken = new Set<string>();
  #folder = "";
  #isWhole = false;

  /** Without an order: an arrival that was complete when the previous host process ended. */
  constructor(options: ArrivalOptions, order: ArrivalOrder | undefined) {
    this.#options = options;
    this.#order = order;
    this.#layerReceiver = new LayerReceiver(options);
    for (const { promise } of [this.#needs, this.#ready, this.#memoryComes, this.#whole, this.#resumed])
      promise.catch(() => undefined); // each caller that awaits it gets the error
  }

  get needs(): Promise<ArrivalNeeds> {
    return this.#needs.promise;
  }

  /** Resolves when our QEMU waits for the source's. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Resolves when disk and memory are complete here. */
  get whole(): Promise<void> {
    return this.#whole.promise;
  }

  /** Called with control's decision that the VM runs here. */
  resume(order: Policy): void {
    if (!this.#isWhole) throw new SkerryError("move_refused", "Not all of the VM is here yet.");
    this.#resumed.resolve(order);
  }

  /** Resolves with the running guest after `resume`. On failure the caller releases the resources that
   *  `newVm.record` names. */
  async bringUp(newVm: NewVm, size: Size, signal: AbortSignal): Promise<LiveVm> {
    const lost = Promise.withResolvers<never>();
    lost.promise.catch(() => undefined);
    const onAbort = (): void => lost.reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    let qmp: Qmp | undefined;
    try {
      this.#folder = newVm.record.folder;
      qmp = await this.#open(newVm, size, lost.promise);
      void qmp.closed.then(() => lost.reject(new QmpError("its QEMU has ended")));
      if (this.#order !== undefined) await this.#takeIn(newVm, qmp, lost.promise);
      this.#isWhole = true;
      this.#whole.resolve();
      return await this.#letGo(newVm, qmp, lost.promise);
    } catch (error) {
      qmp?.close();
      const failure = error instanceof SkerryError ? error : failed(error);
      for (const wait of [this.#needs, this.#ready, this.#memoryComes, this.#whole]) wait.reject(failure);
      throw failure;
    } finally {
      this.#over.abort();
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Throws unless `ticket` is this move's and is used for `what` for the first time. */
  admit(what: string, ticket: string | undefined): void {
    const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
    const known =
      this.#order !== undefined && timingSafeEqual(digest(this.#order.ticket), digest(ticket ?? ""));
    if (!known || this.#taken.has(what)) {
      throw new SkerryError("forbidden", "The ticket is not good for this.");
    }
    this.#taken.add(what);
  }

  /** Receives a layer that `needs` has named. Call `admit` first. */
  async receiveLayer(digest: string, content: Readable): Promise<void> {
    await this.#layerReceiver.receive(digest, addAbortSignal(this.#over.signal, content));
  }

  /** Connects the source's QEMU with ours. Call `admit` first, and await `ready`. */
  accept(stream: MoveStream, source: Duplex): void {
    const qemu = connect(join(this.#folder, moveSockets[stream]));
    qemu.on("error", () => undefined); // "close" follows
    splice(source, qemu);
    if (stream === "memory") this.#memoryComes.resolve();
  }

  /** The QEMU that receives the VM, or that an earlier host process let receive it. */
  async #open(newVm: NewVm, size: Size, lost: Promise<never>): Promise<Qmp> {
    const order = this.#order;
    if (order === undefined) return this.#reconnect(newVm);
    await checkDiskReserve(this.#options.vmsFolder);
    await makeNewFolder(newVm.record);
    await saveRecord(newVm.record);
    if (newVm.record.machine !== undefined) await syncFolder(this.#options.vmsFolder);
    const below = await this.#collectLayers(order, lost);
    newVm.record = { ...newVm.record, below };
    if (newVm.record.machine !== undefined) await saveBackingFiles(this.#folder, below);
    return this.#start(newVm, { order, size });
  }

  async #reconnect({ record }: NewVm): Promise<Qmp> {
    const deadline = AbortSignal.timeout(HUNG_AFTER_MS);
    const qmp = await Qmp.connect(join(this.#folder, vmPaths.qmp), deadline, HUNG_AFTER_MS);
    // The earlier host process had resumed it already.
    if ((await runState(qmp)) === "running") this.#resumed.resolve(record);
    return qmp;
  }

  /** Resolves when disk and memory are complete. The guest is paused. */
  async #takeIn(newVm: NewVm, qmp: Qmp, lost: Promise<never>): Promise<void> {
    const { resources, vmsFolder } = this.#options;
    await awaitSealed(this.#folder, uidOf(resources, resources.slots.slot(newVm.record.slot)), qmp);
    this.#ready.resolve();
    const stop = new AbortController();
    const come = this.#memoryComes.promise.then(() => arrived(qmp, stop.signal));
    // The disk grows while it is received.
    await Promise.race([come, lost, watchDiskReserve(vmsFolder, stop.signal)]).finally(() => stop.abort());
    const { arrival, machine } = newVm.record;
    newVm.record = {
      ...newVm.record,
      ...(arrival === undefined ? {} : { arrival: { ...arrival, whole: true } }),
      // From here on this may be the only copy of the disk.
      ...(machine === undefined ? {} : { machine: { ...machine, keeps_disk: true } }),
    };
    await saveRecord(newVm.record);
  }

  /** Names the layers that this host does not have, and resolves with all files when they have come. */
  async #collectLayers({ manifest }: ArrivalOrder, lost: Promise<never>): Promise<BackingFiles> {
    this.#needs.resolve({ layers: await this.#layerReceiver.ask(manifest) });
    return Promise.race([this.#layerReceiver.files(manifest), lost]);
  }

  async #start(newVm: NewVm, { order, size }: { order: ArrivalOrder; size: Size }): Promise<Qmp> {
    const { resources } = this.#options;
    const { compatibility, disk_gib: diskGib } = order.manifest;
    const { record } = newVm;
    const { below } = record;
    if (below === undefined) throw new Error("the record does not say what the disk stands on");
    const disk = join(record.folder, vmPaths.disk);
    // A reader may follow the console before the guest writes to it.
    if (record.machine !== undefined)
      await writeFile(join(record.folder, vmPaths.console), "", { mode: 0o600 });
    await emptyQcow2(disk, diskGib);
    await chmod(disk, 0o600);
    const started = await startQemu(resources, {
      record,
      size,
      machine: {
        accelerator: compatibility.accelerator,
        vcpus: size.vcpus,
        memoryMib: size.memory_mib,
        tscKhz: compatibility.tsc_khz ?? undefined,
      },
      files: {
        // The kernel is part of the memory, which the source sends.
        ...{ kernel: "", initramfs: "" },
        memory: await emptyMemory(resources.emptyMemoryFolder, size.memory_mib),
        ...diskFiles(below),
      },
      diskGib,
      purpose: "arrival",
      isMachine: record.machine !== undefined,
      state: undefined,
    });
    newVm.record = { ...record, process: started.process, memory_of: "own" };
    try {
      await Promise.all([
        saveRecord(newVm.record),
        resources.egress.load(resources.slots.slot(record.slot), record.egress),
      ]);
      return started.qmp;
    } catch (error) {
      started.qmp.close();
      throw error;
    }
  }

  /** A guest that was busy when it stopped may overlook the first hello (seen once in 30 moves). */
  async #connect(): Promise<GuestChannel> {
    const options = { resync: true, deadlineMs: CHANNEL_DEADLINE_MS };
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await GuestChannel.connect(join(this.#folder, vmPaths.agent), options);
      } catch (error) {
        if (attempt === CHANNEL_ATTEMPTS) throw error;
      }
    }
  }

  async #letGo(newVm: NewVm, qmp: Qmp, lost: Promise<never>): Promise<LiveVm> {
    const { resources } = this.#options;
    const order = await Promise.race([this.#resumed.promise, lost]);
    if (order.egress_version > newVm.record.egress_version) {
      // Written first: a host that is killed after this loads the new one again.
      const { egress, egress_version } = order;
      newVm.record = { ...newVm.record, egress, egress_version };
      await saveRecord(newVm.record);
      await resources.egress.replace(resources.slots.slot(newVm.record.slot), egress);
    }
    await qmp.execute("cont");
    const channel = await Promise.race([this.#connect(), lost]);
    await wakeGuest(channel);
    qmp.deadlineMs = ANSWER_DEADLINE_MS;
    const { arrival: _arrived, ...record } = newVm.record;
    newVm.record = record;
    return { qmp, channel };
  }
}

/** QEMU makes two sockets in its folder, so it owns the folder for that moment; no guest runs in it yet. */
async function awaitSealed(folder: string, uid: number, qmp: Qmp): Promise<void> {
  await chown(folder, uid, uid);
  try {
    await awaitArrival(qmp);
  } finally {
    await chown(folder, 0, 0);
  }
}

function failed(cause: unknown): SkerryError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SkerryError("move_failed", `The VM could not arrive: ${why}`, { cause });
}
