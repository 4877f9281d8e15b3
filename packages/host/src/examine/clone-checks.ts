// Clones as sandboxes get them: many at once, what each step takes, and what they cost while they idle.

import { readFile } from "node:fs/promises";
import { freemem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { figureOf } from "@skerry/contract/hosts/finding";
import { cpuMs } from "./cpu-ms.ts";
import { failed, found, judge, notTried, type Judged } from "./judge.ts";
import { kvmExits } from "./kvm-exits.ts";
import { check, type Trial } from "./trial.ts";
import { cloneSteps, trialClone, type TrialClone } from "./trial-clone.ts";

const SECTION = "clones";
const BYTES_FOR_ONE = 256 * 1024 * 1024;
const ANSWERED_MOST_MS = 3_000;
const PSS_MOST_MIB = 64;
const EXITS_MOST_PER_S = 1_000;
const CPU_MOST_PERCENT = 2;
const CONT_MOST_MS = 20;
/** In which the kernel of a woken guest comes to rest. */
const SETTLE_MS = 3_000;

/** Hands its first clone on to `then` and ends all at the end. */
export async function cloneChecks(
  trial: Trial,
  then: (clones: readonly TrialClone[]) => Promise<void>,
): Promise<void> {
  const clones: TrialClone[] = [];
  try {
    await check(trial, [SECTION, "clones at once"], () => manyAtOnce(trial, clones));
    const [first] = clones;
    if (first === undefined) return;
    await sleep(SETTLE_MS);
    await check(trial, [SECTION, "memory"], () => memoryOf(clones));
    await check(trial, [SECTION, "idle CPU"], () => idleCpu(trial, clones));
    await check(trial, [SECTION, "KVM exits"], () => idleExits(trial, first));
    await check(trial, [SECTION, "stop and cont"], () => pauses(trial, first));
    await then(clones);
  } finally {
    for (const clone of clones) await clone.end();
  }
}

async function manyAtOnce(trial: Trial, clones: TrialClone[]): Promise<Judged> {
  const { host, size, ready, rounds, isEmulated } = trial;
  const count = Math.max(1, Math.min(rounds.clones, Math.floor(freemem() / BYTES_FOR_ONE)));
  const startedMs = performance.now();
  const results = await Promise.allSettled(
    Array.from({ length: count }, () => trialClone(host, size, ready)),
  );
  const tookMs = performance.now() - startedMs;
  for (const result of results) if (result.status === "fulfilled") clones.push(result.value);
  const lost = results.find((result) => result.status === "rejected");
  if (lost !== undefined)
    return failed(
      `${count - clones.length} of ${count} clones failed: ${String(lost.reason)}`,
      "Sandboxes of this machine fail in the same way: see host.log, and report it with this file.",
    );
  const [last, ...before] = cloneSteps.toReversed().map((step) =>
    figureOf(
      step,
      "ms",
      clones.map(({ steps }) => steps[step]),
    ),
  );
  if (last === undefined) throw new Error("a clone has no steps");
  return judge(
    [last, ...before.toReversed(), figureOf(`all ${count}`, "ms", [tookMs])],
    {
      ...{ most: ANSWERED_MOST_MS, of: "worst", isSpeed: true },
      remedy: "Look for a busy machine or a slow disk under the state folder.",
    },
    { isEmulated },
  );
}

async function memoryOf(clones: readonly TrialClone[]): Promise<Judged> {
  const samples = await Promise.all(
    clones.map(async ({ pid }) => {
      const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
      return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1_024;
    }),
  );
  return judge(
    [figureOf("memory of a clone (PSS)", "MiB", samples)],
    {
      ...{ most: PSS_MOST_MIB, of: "median", isSpeed: false },
      remedy: "Fewer sandboxes fit than could: report it with this file.",
    },
    { isEmulated: false },
  );
}

async function idleCpu({ rounds, isEmulated }: Trial, clones: readonly TrialClone[]): Promise<Judged> {
  const used = () => Promise.all(clones.map(({ pid }) => cpuMs(pid)));
  const before = await used();
  await sleep(rounds.idleS * 1_000);
  const after = await used();
  const percent = after.map((ms, index) => (ms - (before[index] ?? 0)) / rounds.idleS / 10);
  return judge(
    [figureOf("CPU of an idle guest, of one core", "%", percent)],
    {
      ...{ most: CPU_MOST_PERCENT, of: "median", isSpeed: true },
      remedy: "Guests wake too often; a nested hypervisor's timers are the usual cause.",
    },
    { isEmulated },
  );
}

async function idleExits({ rounds, isEmulated }: Trial, { pid }: TrialClone): Promise<Judged> {
  if (isEmulated) return notTried("guests are emulated: they have no exits");
  const before = await kvmExits(pid);
  await sleep(rounds.idleS * 1_000);
  const after = await kvmExits(pid);
  if (before === undefined || after === undefined)
    return notTried("the kernel does not tell: mount -t debugfs none /sys/kernel/debug, and try again");
  return judge(
    [figureOf("exits of an idle guest", "/s", [(after - before) / rounds.idleS])],
    {
      ...{ most: EXITS_MOST_PER_S, of: "worst", isSpeed: true },
      remedy:
        "See the clock source of host and guest: a guest without kvm-clock or TSC leaves for each look.",
    },
    { isEmulated },
  );
}

/** As an idle guest is put to rest and woken, but without asking the guest. */
async function pauses({ rounds, isEmulated }: Trial, { live: { qmp } }: TrialClone): Promise<Judged> {
  const stops: number[] = [];
  const conts: number[] = [];
  const timed = async (into: number[], command: "stop" | "cont"): Promise<void> => {
    const startedMs = performance.now();
    await qmp.execute(command);
    into.push(performance.now() - startedMs);
  };
  for (let round = 0; round < rounds.pauses; round += 1) {
    await timed(stops, "stop");
    await timed(conts, "cont");
  }
  if (conts.length === 0) return found("no rounds");
  return judge(
    [figureOf("cont", "ms", conts), figureOf("stop", "ms", stops)],
    {
      ...{ most: CONT_MOST_MS, of: "p99", isSpeed: true },
      remedy: "The first request after a rest waits for this; look for a busy machine.",
    },
    { isEmulated },
  );
}
