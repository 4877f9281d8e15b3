// From a wish to a guest that answers and knows who it is: a clone that waited for it, a new one, or a machine's own disk booted.

import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import type { VmSpec } from "@skerry/contract/host-api";
import type { Size } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import { SlotsExhausted, type Slots } from "../network/slots.ts";
import type { TemplateLibrary } from "../templates/library.ts";
import { bootKept } from "./boot.ts";
import { adoptClone, giveIdentity, restoreClone, resume, type LiveVm } from "./clone.ts";
import { saveBelow } from "./disk-below.ts";
import { refuseWhenDiskIsLow } from "./disk-reserve.ts";
import { releaseResources, makeFolder, type HostResources } from "./vm-resources.ts";
import { vmPaths } from "./qemu.ts";
import { HUNG_AFTER_MS } from "./qmp.ts";
import { isWithout, prepareRecord, saveRecord, syncFolder, type VmRecord, type Waking } from "./record.ts";
import { diskGone } from "./unreadable.ts";
import type { WarmVm } from "./warm-clones.ts";

export interface CreationOptions {
  readonly resources: HostResources;
  readonly library: TemplateLibrary;
  readonly vmsFolder: string;
  readonly instance: string;
  readonly log: Logger;
}

export interface Wish {
  readonly spec: VmSpec;
  readonly size: Size;
  /** A clone that waited for somebody like this. Never for a machine: its disk and its console are other ones from the start. */
  readonly warm: WarmVm | undefined;
  /** What is left of the machine's VM before. */
  readonly kept: VmRecord | undefined;
}

/** A VM that is being made. */
export class Draft {
  /** Changes meanwhile: whatever happens, what it names now has to be given back. */
  record: VmRecord;
  /** Nothing of its user's has run in it. */
  isUnused = false;
  readonly #promise = Promise.withResolvers<void>();
  #isPromised = false;

  constructor(record: VmRecord) {
    this.record = record;
  }

  /** Whoever wished for the VM need not wait for its end: a clone was taken for it, and if that does not wake, another one is made. */
  promise(): void {
    this.#isPromised = true;
    this.#promise.resolve();
  }

  /** Resolves when it is. */
  get promised(): Promise<void> {
    return this.#promise.promise;
  }

  get isPromised(): boolean {
    return this.#isPromised;
  }
}

/** What there is of a VM before anything was done. Takes its network slot. */
export function recordFor(options: CreationOptions, id: string, wish: Wish): VmRecord {
  const { spec, size, warm } = wish;
  return {
    id,
    execution_id: spec.execution_id,
    template: spec.template,
    size: size.name,
    status: "creating",
    reason: null,
    started_at: new Date().toISOString(),
    folder: join(options.vmsFolder, id),
    egress: spec.egress,
    egress_version: spec.egress_version,
    ...machineOf(wish),
    ...(warm === undefined ? unstarted(options, id, spec) : started(warm.record, spec)),
  };
}

function machineOf({ spec: { machine }, kept }: Wish): Pick<VmRecord, "machine" | "below"> {
  if (machine === undefined) return {};
  return {
    machine: { command: machine.command, keeps_disk: kept !== undefined, stopping: false },
    ...(kept?.below === undefined ? {} : { below: kept.below }),
  };
}

/** On failure the caller gives back what the draft names. */
export async function bringUp(
  options: CreationOptions,
  draft: Draft,
  wish: Wish,
  signal: AbortSignal,
): Promise<LiveVm> {
  const live =
    wish.kept === undefined
      ? ((await wake(options, draft, wish)) ?? (await clone(options, draft, wish, signal)))
      : await boot(options, draft, wish, signal);
  signal.throwIfAborted();
  draft.isUnused = wish.kept === undefined;
  return live;
}

async function boot(
  { resources, library, vmsFolder }: CreationOptions,
  draft: Draft,
  { spec, size }: Wish,
  signal: AbortSignal,
): Promise<LiveVm> {
  const { record } = draft;
  if (await isWithout(join(record.folder, vmPaths.disk))) throw diskGone();
  await refuseWhenDiskIsLow(vmsFolder);
  await saveRecord(record);
  return bootKept({ resources, library, record, spec, size, signal }, async ({ process }) => {
    draft.record = { ...record, process };
    await Promise.all([saveRecord(draft.record), loadPolicy(resources, record)]);
  });
}

type Started = Pick<VmRecord, "name" | "slot" | "process" | "below" | "waking">;

function unstarted({ resources, instance }: CreationOptions, id: string, spec: VmSpec): Started {
  return {
    name: `${instance}:${id}:${spec.execution_id}`,
    slot: takeSlot(resources.slots),
    process: undefined,
  };
}

/** What a clone that waited brings with it, and what it lacks. */
function started({ name, slot, process, below }: VmRecord, { hostname, env }: VmSpec): Started {
  return { name, slot, process, waking: { hostname, env }, ...(below === undefined ? {} : { below }) };
}

/** Makes a clone that waited this VM; undefined where none did, or where it has died since. */
async function wake(
  options: CreationOptions,
  draft: Draft,
  { spec, warm }: Wish,
): Promise<LiveVm | undefined> {
  if (warm === undefined) return undefined;
  const { record } = draft;
  const { live } = warm;
  try {
    await takeOver(options, warm.record, record);
    draft.promise();
    // Until its policy is in force the slot passes nothing, and nothing of the user's runs before both are done.
    await settled([loadPolicy(options.resources, record), awaken(live, spec)]);
    return live;
  } catch (error) {
    options.log.warn({ err: error, vm: record.id }, "a waiting clone could not be woken");
    live.qmp.close();
    live.channel.close("it could not be woken");
    await rm(warm.record.folder, { recursive: true, force: true });
    // Taken first: where there is none, the old slot is given back once, by the caller.
    const next = { ...record, ...unstarted(options, record.id, spec) };
    try {
      await releaseResources(options.resources, record);
    } catch (failure) {
      await options.resources.slots.close(options.resources.slots.slot(next.slot));
      throw failure;
    }
    draft.record = next;
    return undefined;
  }
}

/** With the rename the clone becomes this VM: until then the next host process removes it like any that waited, and from then on it
 *  finishes the waking. */
async function takeOver({ vmsFolder }: CreationOptions, waited: VmRecord, record: VmRecord): Promise<void> {
  await settled([
    prepareRecord(record, waited.folder),
    rm(record.folder, { recursive: true, force: true }),
    refuseWhenDiskIsLow(vmsFolder),
  ]);
  await rename(waited.folder, record.folder);
}

/** Finishes what a host process before this one began. Nothing of the user's has run in this guest, so nobody notices what is done twice. */
export async function finishWaking(
  { slots, egress: rules }: HostResources,
  draft: Draft,
  waking: Waking,
  signal: AbortSignal,
): Promise<LiveVm> {
  draft.promise();
  const { record } = draft;
  await rules.replace(slots.slot(record.slot), record.egress);
  const live = await adoptClone(record, { deadlineMs: HUNG_AFTER_MS, signal });
  await giveIdentity(live, waking);
  signal.throwIfAborted();
  return live;
}

async function clone(
  { resources, library, vmsFolder }: CreationOptions,
  draft: Draft,
  { spec, size }: Wish,
  signal: AbortSignal,
): Promise<LiveVm> {
  const { record } = draft;
  await refuseWhenDiskIsLow(vmsFolder);
  await makeNewFolder(record);
  // A reader that follows the console may come before its first word.
  if (spec.machine !== undefined) await writeFile(join(record.folder, vmPaths.console), "", { mode: 0o600 });
  await saveRecord(record);
  if (spec.machine !== undefined) await syncFolder(vmsFolder);
  const { frozen, boot } = await library.frozen(spec.template, size);
  signal.throwIfAborted();
  // The guest has not run yet when its policy is in force.
  const isMachine = spec.machine !== undefined;
  const made = { resources, record, size, frozen, boot, isMachine, signal };
  const restored = await restoreClone(made, async ({ process }) => {
    const below = { root_image: frozen.rootImage, frozen_disk: frozen.disk };
    draft.record = { ...record, process, below };
    if (isMachine) await saveBelow(record.folder, below);
    await Promise.all([saveRecord(draft.record), loadPolicy(resources, record)]);
  });
  const live = await resume(restored);
  await giveIdentity(live, spec);
  return live;
}

/** An empty folder for a VM that is new here. No entry names the disk that would be in it, and a machine's disk is never taken for nothing. */
export async function makeNewFolder({ folder, machine }: VmRecord): Promise<void> {
  if (machine !== undefined && !(await isWithout(join(folder, vmPaths.disk)))) {
    throw new SkerryError(
      "disk_unreadable",
      "There is a disk in the machine's folder that the host does not know.",
      {
        remediation: "Start the host again; it then says what it finds there.",
      },
    );
  }
  await makeFolder(folder);
}

async function awaken(live: LiveVm, spec: VmSpec): Promise<void> {
  await live.qmp.execute("cont");
  await giveIdentity(live, spec);
}

/** Ends when all have, whatever becomes of each: what is under way must not meet what is being given back. */
async function settled(work: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(work);
  await Promise.all(work);
}

function loadPolicy({ slots, egress: rules }: HostResources, { slot, egress }: VmRecord): Promise<void> {
  return rules.load(slots.slot(slot), egress);
}

export function takeSlot(slots: Slots): number {
  try {
    return slots.take().number;
  } catch (error) {
    if (!(error instanceof SlotsExhausted)) throw error;
    throw new SkerryError("no_capacity", "This host has no network slot left.", {
      retryAfterS: 5,
      cause: error,
    });
  }
}
