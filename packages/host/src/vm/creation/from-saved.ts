// A VM that goes on from a saved guest: one that was paused, or a new one from a snapshot.

import { chmod, constants, copyFile, open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import type { VmOrigin } from "@skerry/contract/host-api/snapshots";
import { wakeGuest } from "../../guest/agent.ts";
import { checkDiskReserve } from "../disk/disk-reserve.ts";
import { diskFiles, saveBackingFiles } from "../disk/backing-files.ts";
import { paused } from "../lifecycle/end-reason.ts";
import { memoryOf } from "../record/memory-of.ts";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import { saveRecord } from "../record/record.ts";
import { syncFolder } from "../../system/sync-folder.ts";
import { beginToGoOn, isAsSaved } from "../saved/going-on.ts";
import { checkRunsHere, checkSaved, readSaved, removeSaved, savedPaths } from "../saved/saved-guest.ts";
import type { SavedFolder } from "../saved/snapshots.ts";
import { diskGibOf } from "../start/boot.ts";
import {
  giveIdentity,
  RestoreError,
  restoreInto,
  resume,
  type LiveVm,
  type RestoredVm,
} from "../start/clone.ts";
import { giveTrust } from "../start/egress-trust.ts";
import { QemuStartError, startQemu, type StartedQemu } from "../record/vm-resources.ts";
import type { CreationOptions, VmRequest } from "./creation-request.ts";
import type { NewVm } from "./new-vm.ts";
import { loadPolicy, makeNewFolder } from "./steps.ts";
import { settled } from "../../system/settled.ts";

/** What the request names. Throws where it is not there, is damaged, is another template's or size's, or cannot go on on this host. */
export async function readOrigin(
  options: CreationOptions,
  { spec, size, paused: former }: VmRequest,
  from: VmOrigin,
): Promise<SavedFolder> {
  const origin =
    from.kind === "snapshot"
      ? await options.snapshots.whole(from.snapshot_id)
      : await pausedIn(options, former);
  const { saved } = origin;
  if (saved.template !== spec.template || saved.size !== spec.size)
    throw new SkerryError(
      "bad_request",
      `What was saved is a ${saved.size} of the template ${saved.template}.`,
    );
  checkRunsHere(saved, (await options.library.forBoot(size)).startedWith);
  return origin;
}

async function pausedIn({ owner }: CreationOptions, former: VmRequest["paused"]): Promise<SavedFolder> {
  if (former === undefined)
    throw new SkerryError("vm_not_found", "Nothing is paused under this id on this host.");
  return { folder: former.folder, saved: await readSaved(former.folder, owner.places) };
}

export interface GoOnRequest extends VmRequest {
  readonly origin: SavedFolder;
}

/** On failure the caller releases the resources that `newVm.record` names; where `newVm.staysPaused`, its files stay. */
export async function goOn(
  options: CreationOptions,
  newVm: NewVm,
  request: GoOnRequest,
  signal: AbortSignal,
): Promise<LiveVm> {
  const isPaused = request.paused !== undefined;
  await checkDiskReserve(options.vmsFolder);
  if (isPaused) await clearPaused(newVm);
  else await makeFiles(options, newVm, request);
  signal.throwIfAborted();
  const restored = await restore(options, newVm, request, signal);
  try {
    signal.throwIfAborted();
    if (isPaused) await beginToGoOn(newVm.record);
  } catch (error) {
    restored.qmp.close();
    throw error;
  }
  if (!isPaused) {
    const live = await resume(restored).catch(notAwake);
    // The guest's programs run on, so this comes before nothing of theirs. What runs in two forks from now on differs.
    await giveIdentity(live, request.spec);
    return live;
  }
  const live = await resumePaused(newVm, restored);
  if (request.spec.secrets !== undefined) {
    // The answer says that it has them.
    await giveIdentity(live, request.spec);
    return live;
  }
  // Its policy may have got its first rule while it was paused.
  const { injection } = request.spec.egress;
  if (injection !== undefined) await giveTrust(live.channel, injection);
  // Its agent does this before what it is asked later, so nobody waits for its answer. One that cannot do it ends.
  wakeGuest(live.channel).catch((error: unknown) => {
    live.channel.close(`the guest did not take the time: ${String(error)}`);
  });
  return live;
}

/** The saved files go once the guest has answered. Where it does not, they stay if they still are what it can
 *  go on from. */
export async function resumePaused(newVm: NewVm, restored: RestoredVm): Promise<LiveVm> {
  const live = await resume(restored).catch(async (error: unknown) => {
    newVm.staysPaused = false;
    newVm.staysPaused = await isAsSaved(newVm.record);
    return notAwake(error);
  });
  newVm.staysPaused = false;
  await removeSaved(newVm.record.folder);
  return live;
}

/** Its files stay unless it goes on. */
export async function clearPaused(newVm: NewVm): Promise<void> {
  newVm.staysPaused = true;
  for (const socket of [vmPaths.qmp, vmPaths.agent])
    await rm(join(newVm.record.folder, socket), { force: true });
}

/** Its files are whole, and are found under the new execution id from now on, so that what is asked of it names what there is. */
export async function confirmPaused({ record }: NewVm, { folder, saved }: SavedFolder): Promise<void> {
  await settled([checkSaved(folder, saved), saveRecord({ ...record, ...paused })]);
}

async function makeFiles(
  { vmsFolder }: CreationOptions,
  { record }: NewVm,
  { spec, origin }: GoOnRequest,
): Promise<void> {
  await makeNewFolder(record);
  if (spec.machine !== undefined) await writeFile(join(record.folder, vmPaths.console), "", { mode: 0o600 });
  await saveRecord(record);
  if (spec.machine !== undefined) {
    await syncFolder(vmsFolder);
    await saveBackingFiles(record.folder, origin.saved.below);
  }
  const disk = join(record.folder, vmPaths.disk);
  await copyFile(join(origin.folder, vmPaths.disk), disk, constants.COPYFILE_FICLONE);
  await chmod(disk, 0o600);
  // What a machine has on it may be nowhere else; its folder is synced with its record.
  if (spec.machine !== undefined) await syncFile(disk);
}

async function syncFile(file: string): Promise<void> {
  const handle = await open(file, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The guest is where it was saved, its policy in force, and does not run. */
async function restore(
  options: CreationOptions,
  newVm: NewVm,
  request: GoOnRequest,
  signal: AbortSignal,
): Promise<RestoredVm> {
  const { resources } = options;
  const { origin, paused: former } = request;
  // While QEMU starts. A snapshot was looked at before.
  const confirmed = former === undefined ? Promise.resolve() : confirmPaused(newVm, origin);
  confirmed.catch(() => undefined); // heard of when it is awaited
  const started = await start(options, newVm, request).catch(async (error: unknown) => {
    await confirmed;
    return notAwake(error);
  });
  const resume = { resources, record: newVm.record, signal, resync: true };
  return restoreInto(started, resume, async () => {
    await settled([
      confirmed,
      loadPolicy(resources, newVm.record),
      // A paused one's record says that it is paused until its guest goes on.
      ...(former === undefined ? [saveRecord(newVm.record)] : []),
    ]);
  }).catch(async (error: unknown) => {
    // QEMU may have met the damage first.
    await confirmed;
    return notAwake(error);
  });
}

async function start(
  { resources, library }: CreationOptions,
  newVm: NewVm,
  { size, spec, origin: { folder, saved } }: GoOnRequest,
): Promise<StartedQemu> {
  const { record } = newVm;
  const { below, memory_of, runs_on } = saved;
  const here = (await library.forBoot(size)).startedWith;
  const started = await startQemu(resources, {
    record,
    size,
    machine: {
      accelerator: runs_on.accelerator,
      vcpus: size.vcpus,
      memoryMib: size.memory_mib,
      tscKhz: runs_on.tsc_khz ?? undefined,
    },
    files: {
      // The kernel is in the guest's memory.
      ...{ kernel: "", initramfs: "" },
      memory: await memoryOf(resources, saved, size.memory_mib),
      ...diskFiles(below),
    },
    diskGib: await diskGibOf(below),
    purpose: "clone",
    isMachine: spec.machine !== undefined,
    state: join(folder, savedPaths.state),
    pages: join(folder, savedPaths.memory),
  });
  // It keeps time by the rate that it was started with.
  const started_with = { ...here, tsc_khz: runs_on.tsc_khz };
  newVm.record = { ...record, process: started.process, below, memory_of, started_with };
  return started;
}

/** Not the template's fault, which `RestoreError` says; and a QEMU that was killed while it started is no fault of the host's. */
function notAwake(error: unknown): never {
  if (!(error instanceof RestoreError || error instanceof QemuStartError)) throw error;
  throw new SkerryError("guest_failed", "The VM did not go on from where it was saved.", {
    remediation: "Try again; the host's log says more.",
    cause: error,
  });
}
