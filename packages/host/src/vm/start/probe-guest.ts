// Does KVM run a guest here? The smallest guest that there is goes the whole way of a VM: its template is booted and frozen, and a clone of it
// restored and asked, each in a QEMU that is confined like every other. Less proves too little: there are machines where `/dev/kvm` opens
// and even makes a vCPU, and the guest then hangs.

import { rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Size } from "@skerry/contract/sizes";
import { wakeGuest } from "../../guest/agent.ts";
import { ChannelClosed } from "../../guest/channel.ts";
import { runProgram } from "../../system/run.ts";
import type { BootFiles } from "../../templates/boot-files.ts";
import { ensureFrozen, FreezeError, type FreezeStep, type FrozenTemplate } from "../../templates/frozen.ts";
import type { Machine } from "../qemu/qemu-arguments.ts";
import { lastWords } from "../qemu/qemu-log.ts";
import {
  makeFolder,
  QemuStartError,
  releaseResources,
  type HostResources,
  type VmResources,
} from "../record/vm-resources.ts";
import { RestoreError, restoreClone, resume } from "./clone.ts";
import { KvmInternalError } from "../../guest/first-answer.ts";

export interface ProbeOptions {
  /** With the device, and with deadlines for a probe. */
  readonly resources: HostResources;
  readonly boot: BootFiles;
  readonly instance: string;
  readonly machine: Pick<Machine, "accelerator" | "tscKhz">;
  /** Made for the probe and removed after it. */
  readonly folder: string;
}

type ProbeStep = "start" | FreezeStep | "clone" | "restore" | "resume" | "answer";

/** How far the guest came, and QEMU's last words. */
export class ProbeFailure extends Error {
  override readonly name = "ProbeFailure";

  /** Whether QEMU itself did not come up, which says nothing of KVM. */
  readonly isOfQemu: boolean;

  constructor(step: ProbeStep, cause: unknown, words: string) {
    const [why] = (cause instanceof Error ? cause.message : String(cause)).split("\n");
    super(`no guest ran on it: ${doing[step]}: ${why}${words === "" ? "" : `; QEMU said: ${words}`}`, {
      cause,
    });
    this.isOfQemu = step === "start";
  }
}

const doing: { readonly [Step in ProbeStep]: string } = {
  start: "QEMU did not start",
  boot: "its kernel did not boot",
  hello: "its agent did not say hello",
  "warm-up": "its agent ran no command",
  freeze: "it could not be frozen",
  clone: "the QEMU of its clone did not start",
  restore: "its clone was not restored",
  resume: "its clone could not go on",
  answer: "its clone did not answer",
};

/** Two CPUs, because the second one starts in another way than the first. */
const SIZE: Size = { name: "probe", vcpus: 2, memory_mib: 128, cpu: "shared" };
const ROOT_MIB = 4;
const NEVER = new AbortController().signal;
const FORMAT_DEADLINE_MS = 10_000;

/** Throws ProbeFailure. */
export async function probeGuest(options: ProbeOptions): Promise<void> {
  const { folder } = options;
  await makeFolder(folder);
  try {
    const frozen = await freeze(options);
    await cloneOnce(options, frozen);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves with the first of these QEMUs whose probe succeeds. The next one is tried only where a QEMU itself does not come up: everything else
 *  would fail with it, too. */
export async function firstThatRunsGuests(
  [qemu = "", ...others]: readonly string[],
  probe: (qemu: string) => Promise<void>,
): Promise<string> {
  try {
    await probe(qemu);
    return qemu;
  } catch (error) {
    if (others.length === 0 || !(error instanceof ProbeFailure) || !error.isOfQemu) throw error;
    return firstThatRunsGuests(others, probe);
  }
}

async function freeze(options: ProbeOptions): Promise<FrozenTemplate> {
  const { resources, boot, instance, folder } = options;
  const rootImage = join(folder, "root.ext4");
  await makeEmptyRoot(rootImage);
  try {
    const template = {
      ...{ resources, boot, instance, rootImage, layers: [], size: SIZE, folder: join(folder, "frozen") },
      description: { name: "probe", digest: "", disk_gib: 1, warm_up: [] },
      machine: { ...options.machine, vcpus: SIZE.vcpus, memoryMib: SIZE.memory_mib },
      // A part of the template's identity, and nothing else will use this one.
      qemu: { ...options.machine, version: "", cpu: { model: "", revision: "" } },
    };
    return await ensureFrozen(template, NEVER);
  } catch (error) {
    if (error instanceof FreezeError) throw new ProbeFailure(error.step, error.cause, error.lastWords);
    throw new ProbeFailure("start", error, "");
  }
}

/** The agent needs no file of a root disk. */
async function makeEmptyRoot(file: string): Promise<void> {
  await writeFile(file, "", { mode: 0o444 });
  await truncate(file, ROOT_MIB * 1024 * 1024);
  await runProgram("mke2fs", ["-q", "-F", "-t", "ext4", "-O", "^has_journal", file], {
    deadlineMs: FORMAT_DEADLINE_MS,
  });
}

async function cloneOnce(options: ProbeOptions, frozen: FrozenTemplate): Promise<void> {
  const { resources, boot, instance } = options;
  const folder = join(options.folder, "clone");
  await makeFolder(folder);
  const name = `${instance}:probe:clone`;
  let record: VmResources = { name, folder, slot: resources.slots.take().number, process: undefined };
  let step: ProbeStep = "clone";
  try {
    const clone = { resources, record, frozen, boot, size: SIZE, isMachine: false, signal: NEVER };
    const restored = await restoreClone(clone, async ({ process }) => {
      record = { ...record, process };
      step = "restore";
    });
    step = "resume";
    const { qmp, channel } = await resume(restored);
    step = "answer";
    await wakeGuest(channel, resources.deadlines.answerMs);
    channel.close("the probe has ended");
    qmp.close();
  } catch (thrown) {
    const error = thrown instanceof RestoreError ? thrown.cause : thrown;
    const isSilent = error instanceof ChannelClosed || error instanceof KvmInternalError;
    const failed = step === "resume" && isSilent ? "answer" : step;
    // Its message has them.
    const words = error instanceof QemuStartError ? "" : await lastWords(folder);
    throw new ProbeFailure(failed, error, words);
  } finally {
    await releaseResources(resources, record);
  }
}
