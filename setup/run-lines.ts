// Programs of a test run that run beside others: their lines come out whole, each with a word before it that says whose it is.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Before each of its lines. */
  readonly prefix: string;
}

/** Resolves with its exit code when it has ended and all its output is written. A program that a signal ended counts as failed. */
export async function runLines({ command, args, cwd, env = {}, prefix }: Program): Promise<number> {
  const colors = process.stdout.isTTY ? { FORCE_COLOR: "1" } : {};
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...colors, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close") as Promise<[number | null]>;
  await Promise.all([passOn(child.stdout, prefix), passOn(child.stderr, prefix)]);
  const [code] = await ended;
  return code ?? 1;
}

async function passOn(output: Readable, prefix: string): Promise<void> {
  for await (const line of createInterface({ input: output })) process.stdout.write(`${prefix}${line}\n`);
}
