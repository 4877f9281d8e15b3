// Whether a guest is at rest, seen from outside.

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "./platform.ts";

/** CPU time that the process has used, in ticks of 10 ms. */
async function cpuTicksOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** Its CPU time does not grow for a second; an idle guest that runs would use about one tick, a busy one a hundred. */
export function usesNoCpu(pid: number): Promise<void> {
  return until("the guest uses no CPU", async () => {
    const before = await cpuTicksOf(pid);
    await sleep(1_500);
    return (await cpuTicksOf(pid)) === before;
  });
}
