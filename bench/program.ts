import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Runs a program to its end and resolves with its standard output; rejects with what it said. */
export async function finished(
  program: string,
  args: readonly string[],
  deadlineMs: number,
): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { timeout: deadlineMs, killSignal: "SIGKILL" });
  return stdout;
}
