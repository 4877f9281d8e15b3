// Builds the agent with sanitizers, once for all test files, and runs it beside the test instead of in a VM.
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";

import { inject } from "vitest";

import { AgentLink } from "./agent-link.ts";

const GUEST_FOLDER = path.join(import.meta.dirname, "../..");
const EXIT_DEADLINE_MS = 60_000;

export interface Build {
  readonly agent: string;
  /** Runs cases through the parsers; see tests/parsers.c. */
  parse(cases: readonly ParserCase[]): string[][];
}

export interface ParserCase {
  readonly kind: "f" | "j" | "h";
  readonly piece: number;
  readonly bytes: Buffer;
}

/** The first test file builds; the others wait for it, and find it built. */
export async function buildSanitized(): Promise<Build> {
  const folder = inject("sanitizedAgent");
  const make = ["make", "-s", "-C", GUEST_FOLDER, `OUT=${folder}`, "sanitized"];
  await promisify(execFile)("flock", [folder, ...make]);
  return {
    agent: path.join(folder, "agent-sanitized"),
    parse: (cases) => parse(path.join(folder, "parsers-sanitized"), cases),
  };
}

export interface RunningAgent extends AsyncDisposable {
  readonly link: AgentLink;
  readonly socket: Duplex;
  readonly pid: number;
  /** Closes the channel and answers what the sanitizers have said: nothing, if all is well. */
  stop(): Promise<string>;
}

/** Starts the agent with one end of a socket pair as its port. It leaves the machine it runs on as it is. */
export async function startAgent(build: Build, cgroupRoot?: string): Promise<RunningAgent> {
  const cgroups = cgroupRoot === undefined ? [] : ["--cgroup-root", cgroupRoot];
  const child = spawn(build.agent, ["--serve-fd", "3", ...cgroups], {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    env: { ASAN_OPTIONS: "detect_leaks=1", UBSAN_OPTIONS: "print_stacktrace=1" },
  });
  let report = "";
  child.stderr?.on("data", (text: Buffer) => (report += text.toString()));
  const socket = child.stdio[3] as Duplex;
  const link = new AgentLink(socket);
  const stop = async (): Promise<string> => {
    socket.destroy();
    await exited(child);
    return child.exitCode === 0 ? report : `${report}\nexit code ${child.exitCode}, ${child.signalCode}`;
  };
  await link.hello();
  return {
    link,
    socket,
    pid: child.pid ?? 0,
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill("SIGKILL"), EXIT_DEADLINE_MS);
  await once(child, "exit");
  clearTimeout(timer);
}

function parse(program: string, cases: readonly ParserCase[]): string[][] {
  const parts = cases.flatMap(({ kind, piece, bytes }) => {
    const head = Buffer.alloc(9);
    head.write(kind);
    head.writeUInt32LE(piece, 1);
    head.writeUInt32LE(bytes.length, 5);
    return [head, bytes];
  });
  const run = spawnSync(program, { input: Buffer.concat(parts), maxBuffer: 1 << 30 });
  if (run.status !== 0) throw new Error(`the parsers failed: ${run.stderr.toString()}`);
  const answers: string[][] = [[]];
  for (const line of run.stdout.toString().split("\n")) {
    answers.at(-1)?.push(line);
    if (line === "end" || line === "lost") answers.push([]);
  }
  return answers.slice(0, -1);
}
