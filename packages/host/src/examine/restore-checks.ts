// Templates that were frozen before: whether those of the installation still fit the CPU that guests see today, and whether one that was made
// before the last boot of this machine wakes.

import { readdir, stat, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { FrozenTemplate } from "../templates/frozen.ts";
import { found, notTried, type Judged } from "./judge.ts";
import { check, type Trial } from "./trial.ts";
import { trialClone } from "./trial-clone.ts";

const SECTION = "restore";

/** `keptFolder`: frozen templates of the installation, which are only read. */
export async function restoreChecks(trial: Trial, keptFolder: string): Promise<void> {
  const kept = await readdir(keptFolder).catch(() => [] as string[]);
  const name = basename(trial.ready.frozen.folder);
  await check(trial, [SECTION, "kept templates"], () => fitting(trial, kept, name));
  await check(trial, [SECTION, "made before this boot"], () =>
    kept.includes(name)
      ? wakeKept(trial, join(keptFolder, name))
      : Promise.resolve(notTried("no template of the default size is kept that fits today's CPU")),
  );
  trial.tell({
    ...{ section: SECTION, check: "another CPU" },
    ...notTried("this machine has one: a template of another has another name, which the unit tests try"),
  });
}

async function fitting({ host, size }: Trial, kept: readonly string[], name: string): Promise<Judged> {
  const { cpu } = await host.info();
  const same = kept.filter((one) => one.replace(/-[0-9a-f]{16}$/, "").endsWith(`-${size.name}`));
  const others = same.filter((one) => one !== name).length;
  const fits = kept.includes(name) ? "one fits" : "none fits";
  return found(
    `${same.length} of the default size, ${fits}, ${others} of another CPU, QEMU, kernel or template; guests see ${cpu}`,
  );
}

async function wakeKept(trial: Trial, folder: string): Promise<Judged> {
  const { host, size, ready } = trial;
  const { mtimeMs } = await stat(join(folder, "state"));
  const bootedMs = Date.now() - Number((await readFile("/proc/uptime", "utf8")).split(" ")[0]) * 1_000;
  const frozen = inFolder(ready.frozen, folder);
  const clone = await trialClone(host, size, { ...ready, frozen });
  await clone.end();
  if (mtimeMs >= bootedMs)
    return notTried("a kept template wakes, but it was made since the last boot: try again after a reboot");
  return found("a template that was made before the last boot wakes");
}

function inFolder(frozen: FrozenTemplate, folder: string): FrozenTemplate {
  const there = (file: string): string => join(folder, basename(file));
  const { memory, state, disk, overlay } = frozen;
  return {
    ...frozen,
    folder,
    ...{ memory: there(memory), state: there(state), disk: there(disk), overlay: there(overlay) },
  };
}
