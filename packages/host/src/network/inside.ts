// Runs programs of the system in a slot's namespace, without a shell.

import { runProgram, startProgram, type StartedProgram } from "../run.ts";

const NETNS_FOLDER = "/run/netns";
const DEADLINE_MS = 10_000;

export function netnsFileOf(netns: string): string {
  return `${NETNS_FOLDER}/${netns}`;
}

/** `ip` commands, one after the other, up to the first that fails. */
export async function ipBatch(commands: readonly string[], netns?: string): Promise<void> {
  const where = netns === undefined ? [] : ["-n", netns];
  await runProgram("ip", [...where, "-batch", "-"], {
    deadlineMs: DEADLINE_MS,
    input: `${commands.join("\n")}\n`,
  });
}

/** Loads a script as one transaction: the whole of it, or nothing. */
export async function loadRules(script: string, netns?: string): Promise<void> {
  const [program, args] = command(["nft", "-f", "-"], netns);
  await runProgram(program, args, { deadlineMs: DEADLINE_MS, input: script });
}

/** What `loadRules` does, begun ahead: the program waits in the namespace for its script. Where this process dies it reads an empty one. */
export function startLoadingRules(netns: string): StartedProgram {
  const [program, args] = command(["nft", "-f", "-"], netns);
  return startProgram(program, args, { deadlineMs: DEADLINE_MS });
}

/** A table as nft's JSON. */
export async function listTable(family: string, table: string, netns?: string): Promise<unknown> {
  const [program, args] = command(["nft", "-j", "list", "table", family, table], netns);
  return JSON.parse(await runProgram(program, args, { deadlineMs: DEADLINE_MS }));
}

/** Sets kernel parameters; one that this kernel does not have is passed over. */
export async function setParameters(values: Readonly<Record<string, number>>, netns?: string): Promise<void> {
  const pairs = Object.entries(values).map(([name, value]) => `${name}=${value}`);
  const [program, args] = command(["sysctl", "-q", "-e", "-w", ...pairs], netns);
  await runProgram(program, args, { deadlineMs: DEADLINE_MS });
}

function command(words: readonly [string, ...string[]], netns: string | undefined): [string, string[]] {
  const [program, ...args] = words;
  if (netns === undefined) return [program, args];
  return ["nsenter", [`--net=${netnsFileOf(netns)}`, "--", program, ...args]];
}
