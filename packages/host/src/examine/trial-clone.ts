// A clone as the host makes one for a sandbox, by the same steps and in the same confinement, but held by hand: with its QMP connection, and
// a time for each step.

import { join } from "node:path";
import { DEFAULT_SIZE, findSize, type Size } from "@skerry/contract/sizes";
import { NO_EGRESS } from "../network/egress-loader.ts";
import type { Host } from "../app/host.ts";
import type { ReadyTemplate } from "../templates/library.ts";
import { giveIdentity, restoreClone, resume, type LiveVm } from "../vm/start/clone.ts";
import { makeFolder, releaseResources } from "../vm/record/vm-resources.ts";
import type { ProcessIdentity } from "../vm/qemu/process.ts";
import { guestShell } from "./guest-shell.ts";

const START_DEADLINE_MS = 120_000;

export const cloneSteps = [
  "QEMU started",
  "state restored",
  "agent answered",
  "first command answered",
] as const;
export type CloneStep = (typeof cloneSteps)[number];

export interface TrialClone {
  readonly live: LiveVm;
  readonly pid: number;
  /** In ms from the beginning. */
  readonly steps: Readonly<Record<CloneStep, number>>;
  end(): Promise<void>;
}

let number = 0;

export function defaultSize(): Size {
  const size = findSize(DEFAULT_SIZE);
  if (size === undefined) throw new Error(`there is no size ${DEFAULT_SIZE}`);
  return size;
}

/** `ready` must be frozen for this size. */
export async function trialClone(host: Host, size: Size, ready: ReadyTemplate): Promise<TrialClone> {
  const { resources, config } = host;
  number += 1;
  const id = `trial_${number}`;
  const slot = resources.slots.take();
  const folder = join(config.stateFolder, "vms", id);
  const record = { name: `${config.instance}:${id}:trial`, folder, slot: slot.number };
  let process: ProcessIdentity | undefined;
  const startedMs = performance.now();
  const steps: Partial<Record<CloneStep, number>> = {};
  const reached = (step: CloneStep): void => void (steps[step] = performance.now() - startedMs);
  const signal = AbortSignal.timeout(START_DEADLINE_MS);
  try {
    await makeFolder(folder);
    const options = { resources, size, ...ready, isMachine: false, signal };
    const restored = await restoreClone(
      { ...options, record: { ...record, process: undefined } },
      async (started) => {
        process = started.process;
        reached("QEMU started");
        await resources.egress.load(slot, NO_EGRESS);
      },
    );
    reached("state restored");
    const live = await resume(restored);
    reached("agent answered");
    await giveIdentity(live, { hostname: id.replace("_", "-"), env: {} });
    await guestShell(live.channel, "true");
    reached("first command answered");
    const end = async (): Promise<void> => {
      live.qmp.close();
      live.channel.close("the trial is over");
      await releaseResources(resources, { ...record, process });
    };
    return { live, pid: identityOf(process).pid, steps: steps as Record<CloneStep, number>, end };
  } catch (error) {
    await releaseResources(resources, { ...record, process });
    throw error;
  }
}

function identityOf(process: ProcessIdentity | undefined): ProcessIdentity {
  if (process === undefined) throw new Error("a clone runs without a process");
  return process;
}
