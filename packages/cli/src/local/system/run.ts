// Runs a program to its end, without a shell and with a deadline.

import { spawn } from "node:child_process";

export interface RunOptions {
  readonly deadlineMs?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** An open file that takes stdout, also that of what the program leaves running. */
  readonly stdoutFd?: number;
}

export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class RunFailure extends Error {
  override readonly name = "RunFailure";
}

const DEFAULT_DEADLINE_MS = 60_000;

/** Resolves also where the program failed; rejects with RunFailure where it could not be started, was killed, or had not ended and closed its
 *  output by the deadline. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { deadlineMs = DEFAULT_DEADLINE_MS, stdoutFd, ...rest } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...rest, stdio: ["ignore", stdoutFd ?? "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    // Not spawn's own `timeout`: its timer goes on where the program could not be started, and ends with the program although what that has
    // left running may hold its output open.
    const deadline = setTimeout(() => {
      reject(new RunFailure(`${program} did not end and close its output within ${deadlineMs / 1_000} s`));
      child.kill("SIGKILL");
      child.stdout?.destroy();
      child.stderr?.destroy();
      child.unref();
    }, deadlineMs);
    child.once("error", (error) => {
      clearTimeout(deadline);
      reject(new RunFailure(`${program} cannot be started: ${error.message}`));
    });
    child.once("close", (code, signal) => {
      clearTimeout(deadline);
      if (code === null) reject(new RunFailure(`${program} was killed by ${signal}`));
      else resolve({ code, stdout, stderr });
    });
  });
}

/** Like `run`, but a failing program rejects with what it said. */
export async function mustRun(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, options);
  if (code !== 0)
    throw new RunFailure(`${program} ended with ${code}: ${(stderr || stdout).trim().slice(-2_000)}`);
  return stdout;
}
