// The warm pool from the outside: when it has what it wants and stands still.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { waitingClones, type Platform } from "../tests/support/platform.ts";

/** Clones that wait before each round. More than are asked for within five seconds, so that each round takes one and one is made. */
export const WARM_MIN = 4;
const QUIET_MS = 500;
const POLL_MS = 50;
const REST_DEADLINE_MS = 60_000;

/** Resolves once clones wait and the host makes no more: what is measured next finds one, and has the machine to itself. */
export async function poolAtRest(platform: Pick<Platform, "state">): Promise<void> {
  const endMs = performance.now() + REST_DEADLINE_MS;
  let seen = "";
  let sinceMs = performance.now();
  while (seen === "" || performance.now() - sinceMs < QUIET_MS) {
    if (performance.now() > endMs) throw new Error(`no ${WARM_MIN} clones came to wait`);
    await sleep(POLL_MS);
    const now = await restingClones(platform);
    if (now === seen) continue;
    seen = now;
    sinceMs = performance.now();
  }
}

/** The clones that wait with the CPU time that each has used, which no longer grows once it stands still; "" while there are too few. */
async function restingClones(platform: Pick<Platform, "state">): Promise<string> {
  const names = await waitingClones(platform);
  const clones = await Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(platform.state, "host/vms", name, "vm.json"), "utf8");
      const { process } = JSON.parse(text) as { process?: { pid: number } };
      return `${name} ${await cpuTicks(process?.pid ?? 0)}`;
    }),
  ).catch(() => []); // one was taken or is just being made
  return clones.length < WARM_MIN ? "" : clones.toSorted((a, b) => (a < b ? -1 : 1)).join(", ");
}

/** CPU time of a process so far, in clock ticks of 10 ms. */
export async function cpuTicks(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}
