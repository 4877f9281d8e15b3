// E2B's published command line as a program, and the commands that its help names.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const manifest = createRequire(import.meta.url).resolve("@e2b/cli/package.json");
const program = join(dirname(manifest), "dist/index.js");
const WITHIN_MS = 600_000;

export interface Answer {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

export interface CallOptions {
  /** Its standard input, which is at its end at once otherwise. */
  readonly input?: string;
  readonly cwd?: string;
}

/** Runs it with this environment alone, so that nothing of the machine's reaches it. */
export function runE2b(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
  { input, cwd }: CallOptions = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], {
      ...{ env: { PATH: dirname(process.execPath), NO_UPDATE_NOTIFIER: "1", NO_COLOR: "1", ...env } },
      ...{ stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"], timeout: WITHIN_MS },
      ...(cwd === undefined ? {} : { cwd }),
    });
    const told = { stdout: "", stderr: "" };
    child.stdout?.setEncoding("utf8").on("data", (text: string) => void (told.stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => void (told.stderr += text));
    child.stdin?.end(input);
    child.once("error", reject);
    child.once("close", (code) => resolve({ ...told, code }));
  });
}

/** Throws with what it said unless it ended with 0. */
export async function e2bSays(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
  options: CallOptions = {},
): Promise<string> {
  const { stdout, stderr, code } = await runE2b(env, args, options);
  if (code !== 0) throw new Error(`${stderr.trim() || stdout.trim() || "nothing was said"}`);
  return stdout;
}

/** Each command without commands below it, such as `sandbox list`. */
export async function namedCommands(home: string, group: readonly string[] = []): Promise<readonly string[]> {
  const help = await e2bSays({ HOME: home }, [...group, "--help"]);
  const [, listed = ""] = help.split("\nCommands:\n");
  const names = [...listed.matchAll(/^ {2}([a-z]+)/gm)]
    .map(([, name]) => name ?? "")
    .filter((name) => name !== "help");
  if (names.length === 0) return [group.join(" ")];
  const below = await Promise.all(names.map((name) => namedCommands(home, [...group, name])));
  return below.flat();
}
