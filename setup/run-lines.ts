// Programs of a test run that run beside others: their lines come out whole, each with a word before it that says whose it is.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Before each of its lines. */
  readonly prefix: string;
}

/** Time in ms after its end in which a program's output is still read. */
const READ_AFTER_END_MS = 10_000;

/**
 * Resolves with its exit code when it has ended and its output is written. A program that a signal ended
 * counts as failed. Output that a process  it left behind still holds open is waited for 10 seconds.
 */
export async function runLines({ command, args, cwd, env = {}, prefix }: Program): Promise<number> {
  const colors = process.stdout.isTTY ? { FORCE_COLOR: "1" } : {};
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...colors, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit") as Promise<[number | null]>;
  const outputs = [child.stdout, child.stderr].map((input) => createInterface({ input }));
  const written = Promise.all(outputs.map((lines) => passOn(lines, prefix)));
  const [code] = await ended;
  const closing = setTimeout(() => {
    process.stdout.write(`${prefix}a process that ${command} left behind holds its output\n`);
    for (const lines of outputs) lines.close();
    child.stdout.destroy();
    child.stderr.destroy();
  }, READ_AFTER_END_MS);
  await written.finally(() => clearTimeout(closing));
  return code ?? 1;
}

async function passOn(lines: Interface, prefix: string): Promise<void> {
  for await (const line of lines) process.stdout.write(`${prefix}${line}\n`);
}
