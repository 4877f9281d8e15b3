import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Runs a program to its end and answers its standard output. */
export async function run(program: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await execute(program, args, { timeout: 120_000 });
  return stdout;
}
