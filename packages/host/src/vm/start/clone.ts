// Makes a clone of a frozen template: overlay, QEMU, restore, resume, identity.

import { giveTrust } from "./egress-trust.ts";
import { randomBytes } from "node:crypto";
import { addAbortListener } from "node:events";
import { chmod, copyFile } from "node:fs/promises";
import { join } from "node:path";
import type { VmSpec } from "@skerry/contract/host-api/vm";
import type { Size } from "@skerry/contract/sizes";
import { configure, clockAndEntropy, startMain, wakeGuest, type MainProcess } from "../../guest/agent.ts";
import { GuestChannel } from "../../guest/channel.ts";
import type { BootFiles } from "../../templates/boot-files.ts";
import { emptyTarget, type FrozenTemplate } from "../../templates/frozen.ts";
import type { CommandDefaults, TemplateLibrary } from "../../templates/library.ts";
import { startQemu, type VmResources, type HostResources, type StartedQemu } from "../record/vm-resources.ts";
import { restoreState } from "../qemu/device-state.ts";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import { ANSWER_DEADLINE_MS, Qmp, runState } from "../qemu/qmp.ts";
import type { BuildRecord, VmRecord } from "../record/record.ts";
import { firstAnswer } from "../../guest/first-answer.ts";

/** A running guest whose agent has answered. */
export interface LiveVm {
  readonly qmp: Qmp;
  readonly channel: GuestChannel;
}

/** A restored clone, paused at the point where its template was frozen. */
export interface RestoredVm {
  readonly qmp: Qmp;
  /** Resolves once the guest runs. */
  readonly connecting: Promise<GuestChannel>;
}

/** A clone did not come up for a reason that lies in its template, or between the template and this machine. */
export class RestoreError extends Error {
  override readonly name = "RestoreError";
}

export interface CloneOptions {
  readonly resources: HostResources;
  readonly record: VmResources;
  readonly size: Size;
  readonly frozen: FrozenTemplate;
  readonly boot: BootFiles;
  readonly isMachine: boolean;
  /** What its target stands on, of a VM in which a template is built. */
  readonly target?: BuildRecord["target"];
  /** What may be written to its target. */
  readonly targetGib?: number;
  readonly signal: AbortSignal;
}

/** Starts QEMU and restores the template in it. `meanwhile` is called as soon as the process is known, and
 *  has ended when this resolves. On failure the caller releases the resources. */
export async function restoreClone(
  options: CloneOptions,
  meanwhile: (started: StartedQemu) => Promise<void>,
): Promise<RestoredVm> {
  const { resources, record, frozen, signal } = options;
  const disk = join(record.folder, vmPaths.disk);
  await copyFile(frozen.overlay, disk);
  await chmod(disk, 0o600); // the copy is as read-only as the original
  if (options.target !== undefined) await emptyTarget(join(record.folder, vmPaths.target));
  return restoreInto(await launchRestoring(options), { resources, record, signal, resync: false }, meanwhile);
}

export interface RestoreOptions {
  readonly resources: HostResources;
  readonly record: Pick<VmResources, "folder">;
  readonly signal: AbortSignal;
  /** The guest was in the middle of a conversation. */
  readonly resync: boolean;
}

/** Restores the state that a QEMU was given. `meanwhile` is called at once, and has ended when this resolves. */
export async function restoreInto(
  started: StartedQemu,
  { resources, record, signal, resync }: RestoreOptions,
  meanwhile: (started: StartedQemu) => Promise<void>,
): Promise<RestoredVm> {
  const { qmp } = started;
  try {
    signal.throwIfAborted();
    // Connected before the restore, so that the restored guest finds the host connected as when it was
    // saved.
    const connecting = GuestChannel.connect(join(record.folder, vmPaths.agent), {
      resync,
      deadlineMs: resources.deadlines.answerMs,
    });
    connecting.catch(() => undefined); // awaited when the guest runs
    const restoring = restoreState(qmp, resources.deadlines.restoreMs).catch(notRestored);
    await Promise.all([meanwhile(started), restoring]);
    return { qmp, connecting };
  } catch (error) {
    qmp.close();
    throw error;
  }
}

/** Lets a restored guest run, and resolves once its agent answers. */
export async function resume({ qmp, connecting }: RestoredVm): Promise<LiveVm> {
  try {
    await qmp.execute("cont");
    return { qmp, channel: await firstAnswer(qmp, connecting) };
  } catch (error) {
    const isBroken = await runState(qmp).then(
      (state) => state === "internal-error",
      () => true, // its QEMU has ended
    );
    qmp.close();
    if (isBroken) notRestored(error);
    throw error;
  }
}

function notRestored(cause: unknown): never {
  throw new RestoreError("a clone did not wake from its template", { cause });
}

/** Wakes a clone, and has its template made anew where the template is why it does not wake. */
export async function distrusting<T>(
  library: Pick<TemplateLibrary, "distrust">,
  { frozen, signal }: Pick<CloneOptions, "frozen" | "signal">,
  wakeUp: () => Promise<T>,
): Promise<T> {
  try {
    return await wakeUp();
  } catch (error) {
    if (error instanceof RestoreError && !signal.aborted) await library.distrust(frozen, error);
    throw error;
  }
}

export interface AdoptOptions {
  /** For each answer, of QEMU and of the guest. */
  readonly deadlineMs: number;
  /** Aborts the connection; the VM runs on. */
  readonly signal: AbortSignal;
}

/** Connects again to a VM that an earlier host process started. */
export async function adoptClone(record: VmRecord, { deadlineMs, signal }: AdoptOptions): Promise<LiveVm> {
  const qmp = await Qmp.connect(
    join(record.folder, vmPaths.qmp),
    AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
    deadlineMs,
  );
  using letGo = new DisposableStack();
  letGo.use(addAbortListener(signal, () => qmp.close()));
  try {
    // A host process that was killed while a guest stood still for a snapshot has left it as one whose state was saved.
    const rested = ["paused", "postmigrate"].includes((await runState(qmp)) ?? "");
    if (rested) await qmp.execute("cont");
    const options = { resync: true, deadlineMs, signal };
    const channel = await GuestChannel.connect(join(record.folder, vmPaths.agent), options);
    letGo.use(addAbortListener(signal, () => channel.close("the host lets go of the VM")));
    if (rested) await wakeGuest(channel, deadlineMs);
    qmp.deadlineMs = ANSWER_DEADLINE_MS;
    return { qmp, channel };
  } catch (error) {
    qmp.close();
    throw error;
  }
}

function launchRestoring(options: CloneOptions): Promise<StartedQemu> {
  const { resources, record, size, frozen, boot, target } = options;
  return startQemu(resources, {
    record,
    size,
    machine: frozen.machine,
    files: {
      kernel: boot.kernel,
      initramfs: boot.initramfs,
      memory: frozen.memory,
      rootImage: frozen.rootImage,
      layers: frozen.layers,
      frozenDisk: frozen.disk,
      ...(target === undefined ? {} : { target: { rootImage: target.root_image, layers: target.layers } }),
    },
    diskGib: frozen.diskGib,
    ...(options.targetGib === undefined ? {} : { targetGib: options.targetGib }),
    purpose: "clone",
    isMachine: options.isMachine,
    state: frozen.state,
  });
}

export interface Identity
  extends Pick<VmSpec, "hostname" | "env" | "secrets">, Partial<Pick<VmSpec, "egress"> & CommandDefaults> {}

/** All clones of a template wake with the same identity. This gives the clone its own, before any command
 *  of the user runs. */
export async function giveIdentity(
  { channel }: LiveVm,
  { hostname, env, secrets, user, workdir, egress }: Identity,
): Promise<void> {
  await configure(channel, {
    ...{ hostname, machine_id: randomBytes(16).toString("hex"), ...clockAndEntropy() },
    env: { ...env, ...secrets },
    ...(user == null ? {} : { user }),
    ...(workdir == null ? {} : { workdir }),
  });
  // Its clock is right now.
  if (egress?.injection !== undefined) await giveTrust(channel, egress.injection);
}

/** The machine's main process, started or found again. */
export function mainOf(
  { machine }: VmRecord,
  { channel }: LiveVm,
  deadlineMs?: number,
): Promise<MainProcess | undefined> {
  const command = machine?.command ?? null;
  return command === null ? Promise.resolve(undefined) : startMain(channel, command, deadlineMs);
}
