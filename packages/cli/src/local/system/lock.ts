// Locks that end with the process that holds them, however it ends: the kernel keeps them for an open file, so nothing is ever stale.

import { spawn } from "node:child_process";
import { closeSync, constants, ftruncateSync, openSync, writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import type { Layout } from "./layout.ts";
import { identify, isAlive, type ProcessIdentity } from "./processes.ts";

/** The first `skerry up` fetches a kernel and builds a root disk, on a slow line too. */
const COMMAND_WAIT_S = 1_800;
/** The predecessor may have been killed a moment ago. */
const SUPERVISOR_WAIT_S = 5;
const HELD_BY_ANOTHER = 1;

/** A command that changes this installation. */
export interface CommandAtWork {
  /** As it is typed: `skerry up`. */
  readonly command: string;
  /** When it took the lock, in ms since 1970. */
  readonly sinceMs: number;
  readonly process: ProcessIdentity;
}

/** Makes this process the only one that changes the installation until it ends; another one is waited for. */
export async function lockCommands(layout: Layout, command: string): Promise<void> {
  const file = commandLock(layout);
  if (await takeCommandLock(file, 0, command)) return;
  const other = await commandAtWork(layout);
  process.stderr.write(`${other?.command ?? "Another command"} is at work here; waiting for it.\n`);
  if (await takeCommandLock(file, COMMAND_WAIT_S, command)) return;
  throw new CliError("busy", `${other?.command ?? "Another command"} holds ${file}.`, {
    remediation: `See what it waits for with \`fuser -v ${file}\`.`,
  });
}

/** Undefined where no command holds the lock, and where this user may not read its file. */
export async function commandAtWork(layout: Layout): Promise<CommandAtWork | undefined> {
  try {
    const holder = JSON.parse(await readFile(commandLock(layout), "utf8")) as CommandAtWork;
    return (await isAlive(holder.process)) ? holder : undefined;
  } catch {
    // There is no such file yet, it is another user's, or its holder was killed while it wrote.
    return undefined;
  }
}

function commandLock({ run }: Layout): string {
  return join(run, "command.lock");
}

async function takeCommandLock(file: string, waitS: number, command: string): Promise<boolean> {
  const fd = await takeLock(file, waitS);
  if (fd === undefined) return false;
  const own = await identify(process.pid);
  try {
    ftruncateSync(fd);
    if (own !== undefined)
      writeSync(
        fd,
        JSON.stringify({ command, sinceMs: Date.now(), process: own } satisfies CommandAtWork),
        0,
      );
  } catch {
    // The disk is full. It is for people alone, and `skerry down` may be what makes room.
  }
  return true;
}

export async function lockSupervisor(layout: Layout): Promise<void> {
  if ((await takeLock(join(layout.run, "supervisor.lock"), SUPERVISOR_WAIT_S)) !== undefined) return;
  throw new CliError("busy", `Another supervisor looks after ${layout.state}.`);
}

/** The open file that holds the lock; undefined where another process has it. */
async function takeLock(file: string, waitS: number): Promise<number | undefined> {
  // Not a FileHandle, and not closed while the lock is wanted: one that is collected would let go of it.
  const fd = openSync(file, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  // flock(1) locks the open file that it inherits from us, so the lock stays when it has ended. It does not wait on when this process is killed.
  const flock = ["flock", "--exclusive", "--wait", String(waitS), "3"];
  const child = spawn("setpriv", ["--pdeathsig", "KILL", ...flock], {
    stdio: ["ignore", "ignore", "inherit", fd],
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", (cause) => reject(new Error("setpriv (util-linux) is not installed", { cause })));
    child.once("close", resolve);
  });
  if (code === 0) return fd;
  closeSync(fd);
  if (code === HELD_BY_ANOTHER) return undefined;
  throw new Error(`flock ended with ${code ?? "a signal"} for ${file}`);
}
