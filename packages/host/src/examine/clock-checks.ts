// Clocks of clones: which one a guest has, whether it keeps time, and what it says after a rest.

import { setTimeout as sleep } from "node:timers/promises";
import { cpus } from "node:os";
import { figureOf } from "@skerry/contract/hosts/finding";
import { sizes } from "@skerry/contract/sizes";
import { wakeGuest } from "../guest/agent.ts";
import type { GuestChannel } from "../guest/channel.ts";
import { guestShell } from "./guest-shell.ts";
import { failed, found, judge, notTried, type Judged } from "./judge.ts";
import { MONOTONIC_PROGRAM } from "./monotonic-program.ts";
import { check, type Trial } from "./trial.ts";
import { trialClone, type TrialClone } from "./trial-clone.ts";

const SECTION = "clock";
const LOOKS = 10;
const STRAY_MOST_MS = 50;
const HOUR_S = 3_600;
const READERS = 16;
const COMPLAINTS = /soft lockup|rcu.*stall|hung task|clocksource.*unstable|time jumped/i;

/** How far a guest's date is from this machine's. */
interface ClockOffset {
  readonly ms: number;
  /** What the way there and back leaves open. */
  readonly uncertaintyMs: number;
}

/** Each at work takes a clone of its own, so that all wait at the same time. */
export async function clockChecks(trial: Trial, clones: readonly TrialClone[]): Promise<void> {
  const [watched, ...stopped] = clones;
  if (watched === undefined) return;
  await check(trial, [SECTION, "clock source"], () => clockSource(trial, watched));
  const stops = trial.rounds.stopsS.map((seconds, index) => ({ seconds, clone: stopped[index] }));
  await Promise.all([
    check(trial, [SECTION, `stray in ${trial.rounds.strayS} s`], () => stray(trial, watched)),
    ...stops.map(({ seconds, clone }) =>
      check(trial, [SECTION, `after ${seconds} s of rest`], () => afterRest(trial, clone, seconds)),
    ),
  ]);
  await check(trial, [SECTION, "date that was wrong"], () => wrongDate(trial, watched));
  await check(trial, [SECTION, "monotonic on all CPUs"], () => monotonic(trial));
  trial.tell({
    ...{ section: SECTION, check: "host's clock set" },
    ...notTried("it would set this machine's clock; `date that was wrong` tries the guest's side of it"),
  });
}

async function clockSource({ isEmulated }: Trial, { live }: TrialClone): Promise<Judged> {
  const folder = "/sys/devices/system/clocksource/clocksource0";
  const source = await guestShell(live.channel, `cat ${folder}/current_clocksource`);
  if (isEmulated) return found(`${source}, emulated: with KVM it is kvm-clock or tsc`);
  if (source === "kvm-clock" || source === "tsc") return found(source);
  return {
    ...{ verdict: "warning", found: source, figures: [] },
    remedy: "The guest has no clock of KVM, so each look at the time is slow: report it with this file.",
  };
}

/** The look whose answer came fastest says most. */
async function offsetOf(channel: GuestChannel): Promise<ClockOffset> {
  let best: ClockOffset = { ms: Number.NaN, uncertaintyMs: Infinity };
  for (let look = 0; look < LOOKS; look += 1) {
    const beforeMs = Date.now();
    const guestMs = Number(await guestShell(channel, "date +%s%N")) / 1e6;
    const afterMs = Date.now();
    const uncertaintyMs = (afterMs - beforeMs) / 2;
    if (uncertaintyMs < best.uncertaintyMs) best = { ms: guestMs - (beforeMs + afterMs) / 2, uncertaintyMs };
  }
  return best;
}

async function stray({ rounds, isEmulated }: Trial, { live }: TrialClone): Promise<Judged> {
  const before = await offsetOf(live.channel);
  await sleep(rounds.strayS * 1_000);
  const after = await offsetOf(live.channel);
  const uncertainty = before.uncertaintyMs + after.uncertaintyMs;
  return judge(
    [
      figureOf("stray of the guest's clock", "ms", [Math.abs(after.ms - before.ms)]),
      figureOf("of that uncertain", "ms", [uncertainty]),
    ],
    {
      ...{ most: STRAY_MOST_MS + uncertainty, of: "worst", isSpeed: false },
      remedy: "Let chrony or systemd-timesyncd discipline this machine, and see its clock source.",
    },
    { isEmulated },
  );
}

async function afterRest(
  { isEmulated }: Trial,
  clone: TrialClone | undefined,
  seconds: number,
): Promise<Judged> {
  if (clone === undefined) return notTried("there was no clone left for it");
  const { qmp, channel } = clone.live;
  await qmp.execute("stop");
  await sleep(seconds * 1_000);
  await qmp.execute("cont");
  await wakeGuest(channel);
  const offset = await offsetOf(channel);
  const complaints = (await guestShell(channel, "dmesg || true"))
    .split("\n")
    .filter((line) => COMPLAINTS.test(line));
  if (complaints.length > 0)
    return {
      ...{ verdict: "warning", found: `the guest's kernel complains: ${complaints[0] ?? ""}`, figures: [] },
      remedy: "Harmless where it names only the clock source tsc; else report it with this file.",
    };
  return judge(
    [
      figureOf(`error of the date after ${seconds} s`, "ms", [Math.abs(offset.ms)]),
      figureOf("of that uncertain", "ms", [offset.uncertaintyMs]),
    ],
    {
      ...{ most: STRAY_MOST_MS + offset.uncertaintyMs, of: "worst", isSpeed: false },
      remedy: "Guests wake with a wrong date: report it with this file.",
    },
    { isEmulated },
  );
}

/** A guest is told the date when it wakes, also one whose date is far off. */
async function wrongDate({ isEmulated }: Trial, { live }: TrialClone): Promise<Judged> {
  const { qmp, channel } = live;
  await guestShell(channel, `date -s "@$(($(date +%s) - ${HOUR_S}))"`);
  await qmp.execute("stop");
  await qmp.execute("cont");
  await wakeGuest(channel);
  const offset = await offsetOf(channel);
  return judge(
    [figureOf("error of the date after it was an hour off", "ms", [Math.abs(offset.ms)])],
    {
      ...{ most: STRAY_MOST_MS + offset.uncertaintyMs, of: "worst", isSpeed: false },
      remedy: "Guests keep a wrong date after a rest: report it with this file.",
    },
    { isEmulated },
  );
}

/** Processes on all CPUs of a guest read the clock and compare with the last value that any of them has read. */
async function monotonic(trial: Trial): Promise<Judged> {
  const { host, rounds } = trial;
  const size = sizes.find(({ vcpus, cpu }) => cpu === "shared" && vcpus > 1 && vcpus <= cpus().length);
  const [template] = host.library.list();
  if (size === undefined || template === undefined) return notTried("this machine has one CPU");
  const clone = await trialClone(host, size, await host.library.frozen(template.name, size));
  try {
    const { channel } = clone.live;
    const python = await guestShell(channel, "command -v python3 || true");
    if (python === "") return notTried(`the template ${template.name} has no python3`);
    const seconds = rounds.monotonicS;
    const program = MONOTONIC_PROGRAM.replaceAll("'", "'\\''");
    const said = await guestShell(
      channel,
      `python3 -c '${program}' ${READERS} ${seconds}`,
      60_000 + seconds * 1_000,
    );
    const { reads, back } = JSON.parse(said) as { reads: number; back: number };
    const figures = [figureOf("reads", "count", [reads]), figureOf("steps back", "count", [back])];
    if (back > 0)
      return failed(
        `${back} of ${reads} reads were before an earlier one on ${size.vcpus} CPUs`,
        "The CPUs' counters do not agree: use one CPU per VM, and report it with this file.",
      );
    return found(`never back in ${reads} reads on ${size.vcpus} CPUs`, figures);
  } finally {
    await clone.end();
  }
}
