// Creates a VM: takes a warm clone from the pool, makes a new clone, or boots a machine from its kept disk.
// Ends with a guest that answers and has its identity.

import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import { SlotsExhausted, type Slots } from "../../network/slots.ts";
import { belowClone } from "../../templates/frozen.ts";
import { adoptClone, distrusting, giveIdentity, restoreClone, resume, type LiveVm } from "../start/clone.ts";
import { saveBackingFiles } from "../disk/backing-files.ts";
import { BUILD_ALLOWANCE_BYTES, checkDiskReserve } from "../disk/disk-reserve.ts";
import { releaseResources, type HostResources } from "../record/vm-resources.ts";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import { HUNG_AFTER_MS } from "../qemu/qmp.ts";
import { isWithout, prepareRecord, saveRecord, type VmRecord, type Waking } from "../record/record.ts";
import { syncFolder } from "../../system/sync-folder.ts";
import { diskGone } from "../lifecycle/unreadable.ts";
import { bootDisk } from "./boot-disk.ts";
import type { CreationOptions, VmRequest } from "./creation-request.ts";
import { goOn, readOrigin } from "./from-saved.ts";
import { rebootPaused } from "./reboot-paused.ts";
import type { NewVm } from "./new-vm.ts";
import { buildOn } from "../build/build-on.ts";
import { loadPolicy, makeNewFolder } from "./steps.ts";
import { settled } from "../../system/settled.ts";
import { canKeepSecrets, forgetSecrets, keepSecrets, keptSecrets } from "../record/secrets-in-memory.ts";

/** The first record of a new VM. Takes its network slot. */
export function recordFor(options: CreationOptions, id: string, request: VmRequest): VmRecord {
  const { spec, size, warm } = request;
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
    ...machineOf(request),
    ...(warm === undefined ? unstarted(options, id, spec) : started(warm.record, spec)),
  };
}

function machineOf({ spec: { machine }, kept }: VmRequest): Pick<VmRecord, "machine" | "below"> {
  if (machine === undefined) return {};
  return {
    machine: { command: machine.command, keeps_disk: kept !== undefined, stopping: false },
    ...(kept?.below === undefined ? {} : { below: kept.below }),
  };
}

/** On failure the caller releases the resources that `newVm.record` names. */
export async function bringUp(
  options: CreationOptions,
  newVm: NewVm,
  request: VmRequest,
  signal: AbortSignal,
): Promise<LiveVm> {
  const live = await bringUpFrom(options, newVm, request, signal);
  signal.throwIfAborted();
  newVm.isUnused = request.kept === undefined && request.spec.from === undefined;
  return live;
}

async function bringUpFrom(
  options: CreationOptions,
  newVm: NewVm,
  request: VmRequest,
  signal: AbortSignal,
): Promise<LiveVm> {
  if (request.kept !== undefined) return boot(options, newVm, request, signal);
  const { from } = request.spec;
  if (from !== undefined) {
    const origin = await readOrigin(options, request, from);
    const isReboot = from.kind === "paused" && from.reboot === true;
    return (isReboot ? rebootPaused : goOn)(options, newVm, { ...request, origin }, signal);
  }
  return (await wake(options, newVm, request)) ?? (await clone(options, newVm, request, signal));
}

async function boot(
  options: CreationOptions,
  newVm: NewVm,
  request: VmRequest,
  signal: AbortSignal,
): Promise<LiveVm> {
  const { record } = newVm;
  if (await isWithout(join(record.folder, vmPaths.disk))) throw diskGone();
  await checkDiskReserve(options.vmsFolder);
  await saveRecord(record);
  const meanwhile = async (): Promise<void> => {
    await Promise.all([saveRecord(newVm.record), loadPolicy(options.resources, record)]);
  };
  return bootDisk(options, newVm, request, { signal, meanwhile });
}

type Started = Pick<
  VmRecord,
  "name" | "slot" | "process" | "below" | "memory_of" | "started_with" | "waking"
>;

function unstarted({ resources, instance }: CreationOptions, id: string, spec: VmSpec): Started {
  return {
    name: `${instance}:${id}:${spec.execution_id}`,
    slot: takeSlot(resources.slots),
    process: undefined,
  };
}

/** What a warm clone already has, and the identity that it still lacks. */
function started(warm: VmRecord, { hostname, env, secrets }: VmSpec): Started {
  const { name, slot, process, below, memory_of, started_with } = warm;
  return {
    ...{ name, slot, process },
    ...(secrets === undefined && { waking: { hostname, env } }),
    ...(secrets !== undefined && canKeepSecrets() && { waking: { hostname, env, has_secrets: true } }),
    ...(below === undefined ? {} : { below }),
    ...(memory_of === undefined ? {} : { memory_of }),
    ...(started_with === undefined ? {} : { started_with }),
  };
}

/** Makes the warm clone this VM; undefined where the pool had none, or where the clone has died since. */
async function wake(
  options: CreationOptions,
  newVm: NewVm,
  { spec, warm }: VmRequest,
): Promise<LiveVm | undefined> {
  if (warm === undefined) return undefined;
  const { record } = newVm;
  const { live } = warm;
  try {
    await takeOver(options, warm.record, record, spec);
    // A host process that starts before the end of this must find what the guest still lacks.
    if (record.waking !== undefined) newVm.acknowledge();
    // Until its policy is in force the slot drops every packet, and no command of the user runs before both
    // are done.
    await settled([loadPolicy(options.resources, record), awaken(live, spec)]);
    return live;
  } catch (error) {
    options.log.warn({ err: error, vm: record.id }, "a waiting clone could not be woken");
    if (!newVm.isAcknowledged) await forgetSecrets(record);
    live.qmp.close();
    live.channel.close("it could not be woken");
    await rm(warm.record.folder, { recursive: true, force: true });
    // The new slot is taken first: where none is free, only the caller releases the old one.
    const { waking, ...rest } = record;
    const promised = newVm.isAcknowledged && waking !== undefined ? { waking } : {};
    const next = { ...rest, ...promised, ...unstarted(options, record.id, spec) };
    try {
      await releaseResources(options.resources, record);
    } catch (failure) {
      await options.resources.slots.close(options.resources.slots.slot(next.slot));
      throw failure;
    }
    newVm.record = next;
    return undefined;
  }
}

/** The rename makes the clone this VM: a host process that starts before it removes the folder like that
 *  of any warm clone, and one that starts after it finishes the waking. */
async function takeOver(
  { vmsFolder }: CreationOptions,
  waited: VmRecord,
  record: VmRecord,
  { secrets }: VmSpec,
): Promise<void> {
  await settled([
    prepareRecord(record, waited.folder),
    ...(record.waking?.has_secrets && secrets !== undefined ? [keepSecrets(record, secrets)] : []),
    rm(record.folder, { recursive: true, force: true }),
    checkDiskReserve(vmsFolder),
  ]);
  await rename(waited.folder, record.folder);
}

/** Finishes a waking that an earlier host process began. No command of the user has run in this guest, so
 *  steps may be repeated. */
export async function finishWaking(
  { slots, egress: rules }: HostResources,
  newVm: NewVm,
  waking: Waking,
  signal: AbortSignal,
): Promise<LiveVm> {
  newVm.acknowledge();
  const { record } = newVm;
  await rules.replace(slots.slot(record.slot), record.egress);
  const live = await adoptClone(record, { deadlineMs: HUNG_AFTER_MS, signal });
  const secrets = waking.has_secrets ? await keptSecrets(record) : {};
  await giveIdentity(live, { ...waking, secrets, egress: record.egress });
  signal.throwIfAborted();
  return live;
}

async function clone(
  options: CreationOptions,
  newVm: NewVm,
  { spec, size, onFrozen }: VmRequest,
  signal: AbortSignal,
): Promise<LiveVm> {
  const { resources, library, vmsFolder } = options;
  const { record } = newVm;
  await checkDiskReserve(vmsFolder, spec.build === undefined ? 0 : BUILD_ALLOWANCE_BYTES);
  await makeNewFolder(record);
  // A reader may follow the console before the guest writes to it.
  if (spec.machine !== undefined) await writeFile(join(record.folder, vmPaths.console), "", { mode: 0o600 });
  await saveRecord(record);
  if (spec.machine !== undefined) await syncFolder(vmsFolder);
  const askedMs = performance.now();
  const { frozen, boot } = await library
    .frozen(spec.template, size)
    .finally(() => onFrozen?.(performance.now() - askedMs));
  signal.throwIfAborted();
  if (spec.build !== undefined) {
    // Its record names what the target stands on before QEMU opens it, so that no sweep removes it.
    newVm.record = { ...record, build: await buildOn(options, spec.build) };
    await saveRecord(newVm.record);
  }
  const { build } = newVm.record;
  // The guest has not run yet when its policy is in force.
  const isMachine = spec.machine !== undefined;
  const made = {
    ...{ resources, record, size, frozen, boot, isMachine, signal },
    ...(build === undefined ? {} : { target: build.target, targetGib: build.disk_gib }),
  };
  const live = await distrusting(library, made, async () => {
    const restored = await restoreClone(made, async ({ process }) => {
      const below = belowClone(frozen);
      newVm.record = {
        ...newVm.record,
        process,
        below,
        memory_of: "template",
        started_with: frozen.startedWith,
      };
      if (isMachine) await saveBackingFiles(record.folder, below);
      await Promise.all([saveRecord(newVm.record), loadPolicy(resources, record)]);
    });
    return resume(restored);
  });
  await giveIdentity(live, spec);
  return live;
}

async function awaken(live: LiveVm, spec: VmSpec): Promise<void> {
  await live.qmp.execute("cont");
  await giveIdentity(live, spec);
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
