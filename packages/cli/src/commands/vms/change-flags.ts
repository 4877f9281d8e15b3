// Flags that `skerry sandbox update` and `skerry machine update` share: they set an entry of a map, and take
// one away.

import type { Command } from "commander";
import { CliError } from "../../errors/errors.ts";
import { collectPair, collectText } from "../../input/options.ts";

export interface NamingFlags {
  /** False: it is to have none. */
  readonly name?: string | false;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly unsetMetadata?: readonly string[];
}

export function addNamingFlags(command: Command): Command {
  return command
    .option("--name <name>", "another name that commands take in the place of the id")
    .option("--no-name", "take its name away")
    .option("--metadata <KEY=VALUE>", "label to set; repeatable", collectPair)
    .option("--unset-metadata <KEY>", "label to remove; repeatable", collectText);
}

type Changes = Readonly<Record<string, string | null>>;

/** Undefined where neither flag is given. */
export function changesOf(
  set: Readonly<Record<string, string>> | undefined,
  unset: readonly string[] | undefined,
): Changes | undefined {
  if (set === undefined && unset === undefined) return undefined;
  const removed = (unset ?? []).map((name) => [name, null] as const);
  return Object.fromEntries([...removed, ...Object.entries(set ?? {})]);
}

/** The value that a flag or its `--no-` form asks for; null for the latter. */
export function orNull(flag: string | false | undefined): string | null | undefined {
  return flag === false ? null : flag;
}

export function refuseNoChange(changes: object): void {
  if (Object.keys(changes).length > 0) return;
  throw new CliError("invalid_input", "These flags change nothing.", {
    remediation: "Name what is to change; `--help` lists what can be changed.",
  });
}
