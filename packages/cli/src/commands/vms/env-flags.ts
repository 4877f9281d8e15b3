// `--env` and `--env-file`: the environment of what runs in a VM. A secret stays out of the arguments, which
// every user of this machine can read, where `--env NAME` takes it from the environment here or a file holds
// it.

import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { environmentHere } from "../../config.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { collectText } from "../../input/options.ts";

export interface EnvFlags {
  readonly env?: readonly string[];
  readonly envFile?: readonly string[];
}

type Variables = Readonly<Record<string, string>>;

export function addEnvFlags(command: Command, variable = "environment variable"): Command {
  return command
    .option(
      "--env <KEY[=VALUE]>",
      `${variable}; without a value, the one that it has here; repeatable`,
      collectText,
    )
    .option("--env-file <file>", "file of KEY=VALUE lines, which --env overrides; repeatable", collectText);
}

/** Undefined where no flag is given. Of files, the later one wins. */
export async function envOf(
  { env, envFile }: EnvFlags,
  here = environmentHere(),
): Promise<Variables | undefined> {
  if (env === undefined && envFile === undefined) return undefined;
  const files = await Promise.all((envFile ?? []).map(readEnvFile));
  const own = (env ?? []).map((text) => pairOf(text, here));
  // From entries, because assigning to a key such as `__proto__` would lose it.
  return Object.fromEntries([...files.flat(), ...own]);
}

type Pair = readonly [string, string];

function pairOf(text: string, here: Readonly<Record<string, string | undefined>>): Pair {
  const split = text.indexOf("=");
  if (split > 0) return [text.slice(0, split), text.slice(split + 1)];
  if (text === "" || split === 0)
    throw usage("--env must have the form KEY=VALUE, or KEY for the value that it has here.");
  const value = here[text];
  if (value !== undefined) return [text, value];
  throw usage(`--env ${text} takes the value of ${text} from the environment, where it is not set.`, {
    remediation: `Set and export ${text}, or write --env ${text}=VALUE.`,
  });
}

/** As docker reads one: the value is everything behind the `=`, quotes included. */
export async function readEnvFile(file: string): Promise<readonly Pair[]> {
  const text = await readFile(file, "utf8");
  return text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .flatMap((line, index) => readLine(line, `${file}, line ${index + 1}`));
}

function readLine(line: string, place: string): readonly Pair[] {
  const text = line.trimStart();
  if (text === "" || text.startsWith("#")) return [];
  const [, name, value] = /^([^\s=]+)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [[name, value]];
  // Without the line itself: it may hold a secret.
  throw usage(`${place} is not of the form KEY=VALUE.`, {
    remediation: "Write KEY=VALUE without spaces around the =, or # before a comment.",
  });
}

function usage(message: string, details: { readonly remediation?: string } = {}): CliError {
  return new CliError("invalid_input", message, { ...details, exitCode: exitCodes.usage });
}
