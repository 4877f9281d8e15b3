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

/** Resolves also where the program failed; rejects with RunFailure where it could not be started or was cut off. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { deadlineMs = DEFAULT_DEADLINE_MS, stdoutFd, ...rest } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...rest,
      stdio: ["ignore", stdoutFd ?? "pipe", "pipe"],
      timeout: deadlineMs,
      killSignal: "SIGKILL",
    });
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.once("error", (error) => reject(new RunFailure(`${program} cannot be started: ${error.message}`)));
    child.once("close", (code) => {
      if (code === null) reject(new RunFailure(`${program} did not end within ${deadlineMs / 1_000} s`));
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
