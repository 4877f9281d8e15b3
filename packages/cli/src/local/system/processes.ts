// Processes that outlive the command that started them, known by pid and start time, so that a re-used pid is never
// mistaken for one.

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

export interface ProcessIdentity {
  readonly pid: number;
  readonly startTicks: number;
}

const POLL_MS = 50;
const KILL_DEADLINE_MS = 5_000;

/** Undefined where there is no such process, or only a zombie. */
export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? undefined : { pid, startTicks: Number(fields[19]) };
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await identify(identity.pid))?.startTicks === identity.startTicks;
}

/** Asks it to end, waits, and kills it where it does not. */
export async function stopProcess(identity: ProcessIdentity, graceMs: number): Promise<void> {
  if (!(await isAlive(identity))) return;
  signal(identity.pid, "SIGTERM");
  if (await endedWithin(identity, graceMs)) return;
  signal(identity.pid, "SIGKILL");
  if (!(await endedWithin(identity, KILL_DEADLINE_MS)))
    throw new Error(`process ${identity.pid} survives SIGKILL`);
}

async function endedWithin(identity: ProcessIdentity, ms: number): Promise<boolean> {
  for (const end = performance.now() + ms; performance.now() < end; await sleep(POLL_MS)) {
    if (!(await isAlive(identity))) return true;
  }
  return !(await isAlive(identity));
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended between two looks.
  }
}
