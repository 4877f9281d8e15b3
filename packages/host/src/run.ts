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

/** A program that has begun and waits for its input. */
export interface StartedProgram {
  /** It has not ended yet. */
  readonly waits: boolean;
  /** Gives it its input, runs it to the end and resolves with standard output; rejects with RunError. */
  finish(input: string): Promise<string>;
  /** Ends it unused. */
  kill(): void;
}

/** Runs to the end and resolves with standard output; rejects with RunError. */
export function runProgram(program: string, args: readonly string[], options: RunOptions): Promise<string> {
  return startProgram(program, args, options).finish(options.input ?? "");
}

/** For a program that reads all its input before it does anything: started ahead of time, it costs nothing when it is needed.
 *  The deadline counts from `finish`. */
export function startProgram(
  program: string,
  args: readonly string[],
  options: Omit<RunOptions, "input">,
): StartedProgram {
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe"],
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
  child.stdin.on("error", () => undefined); // it may end without reading
  const ended = new Promise<string>((resolve, reject) => {
    child.once("error", (error) => reject(new RunError(`${program}: ${error.message}`, { cause: error })));
    child.once("close", (code, signal) => {
      if (code === 0) resolve(stdout);
      else reject(new RunError(`${program} ended with ${code ?? signal ?? "?"}: ${tail.trim()}`));
    });
  });
  ended.catch(() => undefined); // nobody may be waiting yet
  const kill = (): void => void child.kill("SIGKILL");
  return {
    get waits() {
      return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
    },
    finish: async (input) => {
      const deadline = setTimeout(kill, options.deadlineMs);
      child.stdin.end(input);
      return ended.finally(() => clearTimeout(deadline));
    },
    kill,
  };
}
