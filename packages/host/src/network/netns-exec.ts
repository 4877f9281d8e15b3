// Runs system programs in the network namespace of a slot, without a shell.

import { runProgram, startProgram, type StartedProgram } from "../system/run.ts";

const NETNS_FOLDER = "/run/netns";
const DEADLINE_MS = 10_000;

/** A namespace to run a program in. */
export interface NetnsExec {
  readonly netnsFile: string;
  /** The program `native/netns-exec.c`. */
  readonly netnsExec: string;
}

export function netnsFileOf(netns: string): string {
  return `${NETNS_FOLDER}/${netns}`;
}

/** Runs `ip` commands one after the other, up to the first that fails. */
export async function ipBatch(commands: readonly string[], netns?: string): Promise<void> {
  await runIpBatch(netns === undefined ? [] : ["-n", netns], commands);
}

/** Runs all `ip` commands; rejects where one has failed. */
export async function ipBatchToEnd(commands: readonly string[]): Promise<void> {
  await runIpBatch(["-force"], commands);
}

async function runIpBatch(flags: readonly string[], commands: readonly string[]): Promise<void> {
  await runProgram("ip", [...flags, "-batch", "-"], {
    deadlineMs: DEADLINE_MS,
    input: `${commands.join("\n")}\n`,
  });
}

/** Loads a script as one transaction: the whole of it, or nothing. */
export async function loadRules(script: string, netns?: NetnsExec): Promise<void> {
  const [program, args] = command(["nft", "-f", "-"], netns);
  await runProgram(program, args, { deadlineMs: DEADLINE_MS, input: script });
}

/** What `loadRules` does, begun ahead: the program waits in the namespace for its script. Where this
 *  process dies it reads an empty one. */
export function startLoadingRules(netns: NetnsExec): StartedProgram {
  const [program, args] = command(["nft", "-f", "-"], netns);
  return startProgram(program, args, { deadlineMs: DEADLINE_MS });
}

/** A table as nft's JSON. */
export async function listTable(family: string, table: string, netns: NetnsExec): Promise<unknown> {
  const [program, args] = command(["nft", "-j", "list", "table", family, table], netns);
  return JSON.parse(await runProgram(program, args, { deadlineMs: DEADLINE_MS }));
}

/** In a new namespace: kernel parameters (one that this kernel does not have is passed over), a TAP, and
 *  rules. */
export async function furnish(
  netns: NetnsExec,
  { parameters, tap, rules }: { parameters: Readonly<Record<string, number>>; tap: string; rules: string },
): Promise<void> {
  const settings = Object.entries(parameters).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
  const [program, args] = command(["nft", "-f", "-"], netns, [...settings, "--tap", tap]);
  await runProgram(program, args, { deadlineMs: DEADLINE_MS, input: rules });
}

function command(
  words: readonly [string, ...string[]],
  netns: NetnsExec | undefined,
  before: readonly string[] = [],
): [string, string[]] {
  const [program, ...args] = words;
  if (netns === undefined) return [program, args];
  return [netns.netnsExec, ["--net", netns.netnsFile, ...before, "--", program, ...args]];
}
