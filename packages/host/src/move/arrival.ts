// The target's side of one move: room and policy first, then what its disk stands on, then a QEMU that takes disk and memory in and does
// not run. It runs when control says that it is here now, and not before: until then it runs elsewhere.

import { createHash, timingSafeEqual } from "node:crypto";
import { chmod, chown, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { addAbortSignal, type Duplex, type Readable } from "node:stream";
import { SkerryError } from "@skerry/contract/errors";
import type { ArrivalNeeds, ArrivalOrder, MoveStream, ResumeOrder } from "@skerry/contract/host-moves";
import type { Size } from "@skerry/contract/sizes";
import { wakeGuest } from "../guest/agent.ts";
import { GuestChannel } from "../guest/channel.ts";
import { emptyQcow2 } from "../templates/frozen.ts";
import type { TemplateLibrary } from "../templates/library.ts";
import type { LiveVm } from "../vm/clone.ts";
import { makeNewFolder, type Draft } from "../vm/creation.ts";
import { saveBelow } from "../vm/disk-below.ts";
import { diskIsLow, refuseWhenDiskIsLow, whileDiskHasRoom } from "../vm/disk-reserve.ts";
import { fileMibOf, startQemu, uidOf, type MachineRoom } from "../vm/instance.ts";
import { vmPaths } from "../vm/qemu.ts";
import { ANSWER_DEADLINE_MS, HUNG_AFTER_MS, Qmp, QmpError, runState } from "../vm/qmp.ts";
import { saveRecord, syncFolder } from "../vm/record.ts";
import type { Layers } from "./layers.ts";
import { splice } from "./peers.ts";
import { arrived, awaitArrival, moveSockets } from "../vm/qemu-moves.ts";

export interface ArrivalOptions {
  readonly room: MachineRoom;
  readonly library: TemplateLibrary;
  readonly layers: Layers;
  readonly vmsFolder: string;
}

type Policy = Pick<ResumeOrder, "egress" | "egress_version">;

const MIB = 1024 ** 2;
const CHANNEL_DEADLINE_MS = 7_000;
const CHANNEL_ATTEMPTS = 4;

export class Arrival {
  readonly #options: ArrivalOptions;
  readonly #order: ArrivalOrder | undefined;
  readonly #needs = Promise.withResolvers<ArrivalNeeds>();
  readonly #layers = new Map<
    string,
    { readonly came: PromiseWithResolvers<void>; readonly maxBytes: number }
  >();
  readonly #ready = Promise.withResolvers<void>();
  readonly #memoryComes = Promise.withResolvers<void>();
  readonly #whole = Promise.withResolvers<void>();
  readonly #resumed = Promise.withResolvers<Policy>();
  /** Nothing comes in any more. */
  readonly #over = new AbortController();
  /** Those that somebody has shown the ticket for. */
  readonly #taken = new Set<string>();
  #folder = "";
  #isWhole = false;

  /** Without an order: one that was whole already when the host process before this one ended. */
  constructor(options: ArrivalOptions, order: ArrivalOrder | undefined) {
    this.#options = options;
    this.#order = order;
    for (const { promise } of [this.#needs, this.#ready, this.#memoryComes, this.#whole, this.#resumed])
      promise.catch(() => undefined); // whoever waits for it hears of it
  }

  get needs(): Promise<ArrivalNeeds> {
    return this.#needs.promise;
  }

  /** Our QEMU waits for the source's. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** All of it is here. */
  get whole(): Promise<void> {
    return this.#whole.promise;
  }

  /** From here on it runs here. */
  resume(order: Policy): void {
    if (!this.#isWhole) throw new SkerryError("move_refused", "Not all of the VM is here yet.");
    this.#resumed.resolve(order);
  }

  /** Resolves with the running guest, when it has been told to. On failure the caller gives back what the draft names. */
  async bringUp(draft: Draft, size: Size, signal: AbortSignal): Promise<LiveVm> {
    const lost = Promise.withResolvers<never>();
    lost.promise.catch(() => undefined);
    const onAbort = (): void => lost.reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    let qmp: Qmp | undefined;
    try {
      this.#folder = draft.record.folder;
      qmp = await this.#open(draft, size, lost.promise);
      void qmp.closed.then(() => lost.reject(new QmpError("its QEMU has ended")));
      if (this.#order !== undefined) await this.#takeIn(draft, qmp, lost.promise);
      this.#isWhole = true;
      this.#whole.resolve();
      return await this.#letGo(draft, qmp, lost.promise);
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

  /** Throws unless `ticket` is this move's, and for the second who shows it for the same thing. */
  admit(what: string, ticket: string | undefined): void {
    const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
    const known =
      this.#order !== undefined && timingSafeEqual(digest(this.#order.ticket), digest(ticket ?? ""));
    if (!known || this.#taken.has(what)) {
      throw new SkerryError("forbidden", "The ticket is not good for this.");
    }
    this.#taken.add(what);
  }

  /** Takes a layer in that `needs` has named. Call `admit` first. */
  async receiveLayer(digest: string, content: Readable): Promise<void> {
    const { layers, vmsFolder } = this.#options;
    const missing = this.#layers.get(digest);
    if (missing === undefined) throw new SkerryError("move_refused", "Nobody has asked for this layer.");
    const { came, maxBytes } = missing;
    try {
      const bounded = whileDiskHasRoom(vmsFolder, addAbortSignal(this.#over.signal, content));
      await layers.receive({ digest, maxBytes }, bounded);
      came.resolve();
    } catch (error) {
      came.reject(error);
      throw error;
    }
  }

  /** Connects the source's QEMU with ours. Call `admit` first, and await `ready`. */
  accept(stream: MoveStream, source: Duplex): void {
    const qemu = connect(join(this.#folder, moveSockets[stream]));
    qemu.on("error", () => undefined); // "close" follows
    splice(source, qemu);
    if (stream === "memory") this.#memoryComes.resolve();
  }

  /** The QEMU that takes it in, or has done so. */
  async #open(draft: Draft, size: Size, lost: Promise<never>): Promise<Qmp> {
    const order = this.#order;
    if (order === undefined) return this.#reconnect(draft);
    await refuseWhenDiskIsLow(this.#options.vmsFolder);
    await makeNewFolder(draft.record);
    await saveRecord(draft.record);
    if (draft.record.machine !== undefined) await syncFolder(this.#options.vmsFolder);
    const below = await this.#collectLayers(order, lost);
    draft.record = { ...draft.record, below };
    if (draft.record.machine !== undefined) await saveBelow(this.#folder, below);
    return this.#start(draft, { order, size });
  }

  async #reconnect({ record }: Draft): Promise<Qmp> {
    const deadline = AbortSignal.timeout(HUNG_AFTER_MS);
    const qmp = await Qmp.connect(join(this.#folder, vmPaths.qmp), deadline, HUNG_AFTER_MS);
    // It had been told to already.
    if ((await runState(qmp)) === "running") this.#resumed.resolve(record);
    return qmp;
  }

  /** Resolves when all is here. The guest stands still. */
  async #takeIn(draft: Draft, qmp: Qmp, lost: Promise<never>): Promise<void> {
    const { room, vmsFolder } = this.#options;
    await awaitSealed(this.#folder, uidOf(room, room.slots.slot(draft.record.slot)), qmp);
    this.#ready.resolve();
    const stop = new AbortController();
    const come = this.#memoryComes.promise.then(() => arrived(qmp, stop.signal));
    // Its disk grows while it comes in.
    await Promise.race([come, lost, diskIsLow(vmsFolder, stop.signal)]).finally(() => stop.abort());
    const { arrival, machine } = draft.record;
    draft.record = {
      ...draft.record,
      ...(arrival === undefined ? {} : { arrival: { ...arrival, whole: true } }),
      // From here on it may be the only disk that there is.
      ...(machine === undefined ? {} : { machine: { ...machine, keeps_disk: true } }),
    };
    await saveRecord(draft.record);
  }

  async #collectLayers(order: ArrivalOrder, lost: Promise<never>) {
    const { library, layers } = this.#options;
    const { template, below, disk_gib: diskGib } = order.luggage;
    const maxBytes = fileMibOf(diskGib) * MIB;
    const own = await library.disks(template);
    const missing: string[] = [];
    for (const [kind, digest] of Object.entries(below)) {
      if ((await layers.find(digest, own[kind as keyof typeof own])) !== undefined) continue;
      missing.push(digest);
      const came = Promise.withResolvers<void>();
      came.promise.catch(() => undefined);
      this.#layers.set(digest, { came, maxBytes });
    }
    this.#needs.resolve({ layers: missing });
    for (const { came } of this.#layers.values()) await Promise.race([came.promise, lost]);
    const file = async (kind: keyof typeof own): Promise<string> => {
      const found = await layers.find(below[kind], own[kind]);
      if (found === undefined) throw new Error(`a layer has gone: ${below[kind]}`);
      return found;
    };
    return { root_image: await file("root_image"), frozen_disk: await file("frozen_disk") };
  }

  async #start(draft: Draft, { order, size }: { order: ArrivalOrder; size: Size }): Promise<Qmp> {
    const { room } = this.#options;
    const { footing, disk_gib: diskGib } = order.luggage;
    const { record } = draft;
    const disk = join(record.folder, vmPaths.disk);
    // Whoever follows the console may come before the first word.
    if (record.machine !== undefined)
      await writeFile(join(record.folder, vmPaths.console), "", { mode: 0o600 });
    await emptyQcow2(disk, diskGib);
    await chmod(disk, 0o600);
    const started = await startQemu(room, {
      record,
      size,
      machine: {
        accelerator: footing.accelerator,
        vcpus: size.vcpus,
        memoryMib: size.memory_mib,
        tscKhz: footing.tsc_khz ?? undefined,
      },
      files: {
        // Its kernel is in its memory, and its memory comes.
        ...{ kernel: "", initramfs: "", memory: "" },
        rootImage: record.below?.root_image ?? "",
        frozenDisk: record.below?.frozen_disk,
      },
      diskGib,
      purpose: "arrival",
      isMachine: record.machine !== undefined,
      state: undefined,
    });
    draft.record = { ...record, process: started.process };
    try {
      await Promise.all([
        saveRecord(draft.record),
        room.egress.load(room.slots.slot(record.slot), record.egress),
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

  async #letGo(draft: Draft, qmp: Qmp, lost: Promise<never>): Promise<LiveVm> {
    const { room } = this.#options;
    const order = await Promise.race([this.#resumed.promise, lost]);
    if (order.egress_version > draft.record.egress_version) {
      // Written first: a host that is killed after this loads the new one again.
      const { egress, egress_version } = order;
      draft.record = { ...draft.record, egress, egress_version };
      await saveRecord(draft.record);
      await room.egress.replace(room.slots.slot(draft.record.slot), egress);
    }
    await qmp.execute("cont");
    const channel = await Promise.race([this.#connect(), lost]);
    await wakeGuest(channel);
    qmp.deadlineMs = ANSWER_DEADLINE_MS;
    const { arrival: _arrived, ...record } = draft.record;
    draft.record = record;
    return { qmp, channel };
  }
}

/** QEMU makes two sockets in its folder, which is its own only for that moment: nobody's guest is in it yet. */
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
