// Runs a program without a shell and with a deadline; the error of a failure holds the end of its output. A program that forks, mounts or takes
// long is contained (native/contain.c): nothing of it outlasts its end, its deadline or this process. The others are single processes that end
// by themselves, or whose work is to leave something: `launch` a QEMU, `ip` a network namespace.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { watchProgress, type ProgressDeadline, type ProgressWatch } from "./progress-watch.ts";
import { signalName } from "./signals.ts";
import type { Program, ProgramListener, SpawnHelper } from "./spawn-helper.ts";

/** A program ended with a failure; `message` holds the end of what it printed. */
export class RunError extends Error {
  override readonly name = "RunError";
  /** How it ended. */
  readonly summary: string;
  /** The end of what it printed. */
  readonly lastLines: readonly string[];

  constructor(summary: string, printed = "") {
    const end = printed.trim();
    super(end === "" ? summary : `${summary}: ${end}`);
    this.summary = summary;
    this.lastLines = end.split("\n").flatMap((line) => (line.trim() === "" ? [] : line.trimEnd()));
  }
}

const TAIL_CHARS = 2_000;
/** Exit code of a shell for a program that it cannot start. */
const NOT_STARTED = 127;
/** For a program that was killed at its deadline to be seen ending. What it has left running may hold its output open for ever. */
const KILLED_WITHIN_MS = 5_000;

export interface RunOptions {
  readonly deadlineMs: number;
  /** A second deadline, which counts from the last progress. What the program prints is progress. */
  readonly progress?: ProgressDeadline;
  /** Path of native/contain.c. The program gets mount and pid namespaces of its own, which end with it and with this process. */
  readonly contain?: string;
  readonly input?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** A program that has begun and waits for its input. */
export interface StartedProgram {
  /** Whether the program has not ended yet. */
  readonly waits: boolean;
  /** Gives it its input, runs it to the end and resolves with standard output; rejects with RunError. */
  finish(input: string): Promise<string>;
  /** Kills the program without running it. */
  kill(): void;
}

let helper: SpawnHelper | undefined;

/** From now on the helper starts programs without a folder, environment or signal of their own; undefined:
 *  this process starts them. */
export function useSpawnHelper(it: SpawnHelper | undefined): void {
  helper = it;
}

/** Undefined where no helper was started, or where it has died. */
export function spawnHelperNow(): SpawnHelper | undefined {
  return helper?.isThere === true ? helper : undefined;
}

/** Runs to the end and resolves with standard output; rejects with RunError. */
export function runProgram(program: string, args: readonly string[], options: RunOptions): Promise<string> {
  return startProgram(program, args, options).finish(options.input ?? "");
}

/** For a program that reads all its input before it does anything: started ahead of time, it costs nothing
 *  when it is needed. The deadline counts from `finish`. */
export function startProgram(
  program: string,
  args: readonly string[],
  options: Omit<RunOptions, "input">,
): StartedProgram {
  const output: Buffer[] = [];
  let tail = "";
  let expired = "";
  let watch: ProgressWatch | undefined;
  const { promise: ended, resolve, reject } = Promise.withResolvers<string>();
  ended.catch(() => undefined); // `finish` may be called later
  const says = (bytes: Buffer): void => {
    tail = (tail + bytes.toString()).slice(-TAIL_CHARS);
    watch?.note();
  };
  const listener: ProgramListener = {
    output: (bytes) => {
      output.push(bytes);
      says(bytes);
    },
    error: says,
    ended: (how) => {
      if ("code" in how && how.code === 0) resolve(Buffer.concat(output).toString());
      else
        reject(
          new RunError(
            `${program} ended with ${"code" in how ? how.code : signalName(how.signal)}${expired}`,
            tail,
          ),
        );
    },
    lost: () => reject(new RunError(`${program}: its exit was not seen`)),
  };
  const { cwd, env, signal, contain } = options;
  const isPlain = cwd === undefined && env === undefined && signal === undefined;
  const spawnHelper = isPlain ? spawnHelperNow() : undefined;
  const command =
    contain === undefined
      ? ([program, args] as const)
      : containedCommand(contain, [program, ...args], spawnHelper?.pid);
  const started = spawnHelper?.run(...command, listener) ?? start(...command, options, listener);
  const expire = (why: string): void => {
    expired = ` (${why})`;
    started.kill();
  };
  return {
    get waits() {
      return !started.hasEnded;
    },
    finish: async (input) => {
      const deadline = setTimeout(
        () => expire(`not done within ${options.deadlineMs / 1_000} s`),
        options.deadlineMs,
      );
      if (options.progress !== undefined) watch = watchProgress(options.progress, expire);
      const afterMs = options.deadlineMs + KILLED_WITHIN_MS;
      const unseen = `${program} did not end and close its output within ${afterMs / 1_000} s`;
      const last = setTimeout(() => reject(new RunError(unseen, tail)), afterMs);
      started.input(input);
      return ended.finally(() => {
        clearTimeout(deadline);
        clearTimeout(last);
        watch?.stop();
      });
    },
    kill: () => started.kill(),
  };
}

/** The program and the arguments that run `words` contained. `parent` is the process that starts them, by default this one. */
export function containedCommand(
  contain: string,
  words: readonly string[],
  parent = process.pid,
): [string, string[]] {
  return [contain, ["--parent", String(parent), ...words]];
}

/** Used where the spawn helper is not running. */
function start(
  program: string,
  args: readonly string[],
  { cwd, env, signal }: Omit<RunOptions, "input">,
  listener: ProgramListener,
): Program {
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe"],
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    ...(signal === undefined ? {} : { signal, killSignal: "SIGKILL" as const }),
  });
  child.stdout.on("data", (bytes: Buffer) => listener.output(bytes));
  child.stderr.on("data", (bytes: Buffer) => listener.error(bytes));
  child.stdin.on("error", () => undefined); // it may end without reading
  child.once("error", (error) => {
    listener.error(Buffer.from(error.message));
    listener.ended({ code: NOT_STARTED });
  });
  child.once("close", (code, ended) =>
    listener.ended(ended === null ? { code: code ?? NOT_STARTED } : { signal: constants.signals[ended] }),
  );
  return {
    get hasEnded() {
      return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
    },
    input: (text) => void child.stdin.end(text),
    kill: () => void child.kill("SIGKILL"),
  };
}
