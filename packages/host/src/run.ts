// Runs a program without a shell, with a deadline, and says what it said when it fails.

import { spawn } from "node:child_process";

/** A program ended with a failure; `message` holds the end of what it printed. */
export class RunError extends Error {
  override readonly name = "RunError";
}

const TAIL_CHARS = 2_000;

export interface RunOptions {
  readonly deadlineMs: number;
  readonly input?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Runs to the end and resolves with standard output; rejects with RunError. */
export function runProgram(program: string, args: readonly string[], options: RunOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ["pipe", "pipe", "pipe"],
      timeout: options.deadlineMs,
      killSignal: "SIGKILL",
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.env === undefined ? {} : { env: options.env }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    let stdout = "";
    let tail = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      tail = (tail + text).slice(-TAIL_CHARS);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      tail = (tail + text).slice(-TAIL_CHARS);
    });
    child.once("error", (error) => reject(new RunError(`${program}: ${error.message}`, { cause: error })));
    child.once("close", (code, signal) => {
      if (code === 0) resolve(stdout);
      else reject(new RunError(`${program} ended with ${code ?? signal ?? "?"}: ${tail.trim()}`));
    });
    child.stdin.on("error", () => undefined); // it may end without reading
    child.stdin.end(options.input ?? "");
  });
}
