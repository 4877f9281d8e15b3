// Locks that end with the process that holds them, however it ends: the kernel keeps them for an open file, so nothing is ever stale.

import { spawn } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import type { Layout } from "./layout.ts";

/** The first `skerry up` fetches a kernel and builds a root disk, on a slow line too. */
const COMMAND_WAIT_S = 1_800;
/** The predecessor may have been killed a moment ago. */
const SUPERVISOR_WAIT_S = 5;
const HELD_BY_ANOTHER = 1;

/** Makes this process the only `up` or `down` of the installation until it ends; another one is waited for. */
export async function lockCommands(layout: Layout): Promise<void> {
  const file = join(layout.run, "command.lock");
  if (await takeLock(file, 0)) return;
  process.stderr.write("Another skerry up or down is at work here; waiting for it.\n");
  if (await takeLock(file, COMMAND_WAIT_S)) return;
  throw new CliError("busy", `Another skerry up or down holds ${file}.`, {
    remediation: `See what it waits for with \`fuser -v ${file}\`.`,
  });
}

export async function lockSupervisor(layout: Layout): Promise<void> {
  if (await takeLock(join(layout.run, "supervisor.lock"), SUPERVISOR_WAIT_S)) return;
  throw new CliError("busy", `Another supervisor looks after ${layout.state}.`);
}

async function takeLock(file: string, waitS: number): Promise<boolean> {
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
  if (code === 0) return true;
  closeSync(fd);
  if (code === HELD_BY_ANOTHER) return false;
  throw new Error(`flock ended with ${code ?? "a signal"} for ${file}`);
}
