// A QEMU process: started through launch.c, known by pid and start time, so that a re-used pid is never
// mistaken for it.

import { readdir, readFile, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { runProgram } from "../../system/run.ts";

/** Identifies a process for good: a pid alone may be used again. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/PID/stat: clock ticks between boot and the start of the process. */
  readonly startTicks: number;
}

export interface Confinement {
  readonly uid: number;
  /** It gets a node of its own for this device: /dev/kvm, where KVM is used. */
  readonly device: string | undefined;
  readonly netnsFile: string;
  readonly tap: string;
  readonly cgroup: string | undefined;
  /** Where the guest's memory is no file. A private file mapping gets none anyway. */
  readonly hugePages: boolean;
  /** The largest file that it may write, in MiB. */
  readonly fileMib: number;
}

export interface LaunchOptions {
  readonly launcher: string;
  readonly qemu: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** Sockets in the folder that it will listen on, as fd 11 and 12. */
  readonly listen: readonly string[];
  /** Where its console is kept, fd 13; undefined for a console of its own. */
  readonly console: ConsoleLog | undefined;
  readonly confinement: Confinement;
  /** Files and folders outside of its folder that it may read; it finds them under the same paths, and no others. */
  readonly reads: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Opened as fd 3: saved device state. */
  readonly state: string | undefined;
  /** Opened as fd 4: pages that differ from the memory that the guest starts from. */
  readonly pages: string | undefined;
  /** In the folder; takes QEMU's own messages. */
  readonly log: string;
}

/** A program of ours that keeps what it reads in a file in the folder. */
export interface ConsoleLog {
  readonly program: string;
  readonly file: string;
}

/** `INSTANCE:VM:EXECUTION` or `INSTANCE:template:NAME:SIZE:`. Parts of it become file names. */
const PROCESS_NAME = /^[a-z0-9_:-]{1,200}$/;
const START_DEADLINE_MS = 10_000;
const EXIT_POLL_MS = 10;
const EXIT_DEADLINE_MS = 10_000;

/** Starts QEMU, which outlives this process. Rejects with the launcher's words where it does not come as far as QEMU; those that are in the
 *  log are there only. */
export async function launchQemu(options: LaunchOptions): Promise<ProcessIdentity> {
  const { confinement } = options;
  const args = [
    ...["--folder", options.folder, "--log", options.log],
    ...(options.state === undefined ? [] : ["--state", options.state]),
    ...(options.pages === undefined ? [] : ["--pages", options.pages]),
    ...Object.entries(options.env).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
    ...["--netns", confinement.netnsFile, "--tap", confinement.tap, "--uid", String(confinement.uid)],
    ...["--file-mib", String(confinement.fileMib)],
    ...(confinement.device === undefined ? [] : ["--device", confinement.device]),
    ...(confinement.hugePages ? ["--huge-pages", "on"] : []),
    ...(confinement.cgroup === undefined ? [] : ["--cgroup", confinement.cgroup]),
    ...options.listen.flatMap((name) => ["--listen", name]),
    ...(options.console === undefined
      ? []
      : ["--console-log", options.console.program, "--console", options.console.file]),
    ...options.reads.flatMap((path) => ["--read", path]),
    ...["--", options.qemu, ...options.args],
  ];
  const said = await runProgram(options.launcher, args, { deadlineMs: START_DEADLINE_MS });
  const [pid = 0, startTicks = 0] = said.trim().split(" ").map(Number);
  return { pid, startTicks };
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return (await startTicksOf(identity.pid)) === identity.startTicks;
}

/** Whether it lives and works in this folder, also where the folder was renamed since. */
export async function worksIn(identity: ProcessIdentity, folder: string): Promise<boolean> {
  if (!(await isAlive(identity))) return false;
  const [there, here] = await Promise.all(
    [`/proc/${identity.pid}/cwd`, folder].map((path) => stat(path).catch(() => undefined)),
  );
  return there !== undefined && there.dev === here?.dev && there.ino === here.ino;
}

/** Kills the process and waits until the kernel has taken it away. */
export async function killProcess(identity: ProcessIdentity): Promise<void> {
  const end = performance.now() + EXIT_DEADLINE_MS;
  while (await isAlive(identity)) {
    if (performance.now() > end) throw new Error(`process ${identity.pid} survives SIGKILL`);
    try {
      process.kill(identity.pid, "SIGKILL");
    } catch {
      // It ended between the two calls.
    }
    await sleep(EXIT_POLL_MS);
  }
}

/** User ids that only QEMU processes of one host have. A command line can be imitated by any user; these
 *  ids cannot. */
export interface UidRange {
  readonly first: number;
  readonly count: number;
}

/** A live process of one of these users: what really runs, which the records need not say. */
export interface FoundProcess {
  readonly identity: ProcessIdentity;
  readonly uid: number;
  /** Of a QEMU, what it was called when it was started; a QEMU that its guest has taken over can change
   *  that. */
  readonly name: string | undefined;
}

export async function findByUid(uids: UidRange): Promise<FoundProcess[]> {
  const found: FoundProcess[] = [];
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const uid = await effectiveUidOf(Number(entry));
    if (uid < uids.first || uid >= uids.first + uids.count) continue;
    const args = (await readFile(`/proc/${entry}/cmdline`, "utf8").catch(() => "")).split("\0");
    const name = args.includes("-name") ? (args[args.indexOf("-name") + 1] ?? "") : "";
    const startTicks = await startTicksOf(Number(entry));
    if (startTicks === undefined) continue;
    const identity = { pid: Number(entry), startTicks };
    found.push({ identity, uid, name: PROCESS_NAME.test(name) ? name : undefined });
  }
  return found;
}

/** Every live QEMU of these users whose `-name` begins with this prefix. */
export async function findByName(
  prefix: string,
  uids: UidRange,
): Promise<{ identity: ProcessIdentity; name: string }[]> {
  return (await findByUid(uids)).flatMap(({ identity, name }) =>
    name?.startsWith(prefix) === true ? [{ identity, name }] : [],
  );
}

/** -1 where the process has gone. */
async function effectiveUidOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^Uid:\s+\d+\s+(\d+)/m.exec(status)?.[1] ?? -1);
}

async function startTicksOf(pid: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (stat === undefined) return undefined;
  // The second field is the program's name in parentheses and may hold anything; the rest is separated by
  // blanks.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // The first thread of a dying process is a zombie before the others have let go of files and devices.
  if (fields[0] === "X" || (fields[0] === "Z" && Number(fields[17]) <= 1)) return undefined;
  return Number(fields[19]);
}
