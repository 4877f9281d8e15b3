// Flags of a command that follow from the fields of an operation's query or body.

import { InvalidArgumentError, Option, type Command } from "commander";
import { flags, type Flag, type OperationFlags } from "../../generated/flags.ts";
import { collectPair, collectText } from "../../input/options.ts";

/** Adds a flag for each field but the one that is no flag here. */
export function addFlags(command: Command, operation: OperationFlags, without?: string): void {
  for (const flag of flags[operation] as readonly Flag[])
    if (flag.field !== without) command.addOption(optionOf(flag));
}

/** Fields that were given, by the names of the API. */
export function fieldsGiven(command: Command, operation: OperationFlags): Readonly<Record<string, unknown>> {
  const values = command.opts<Record<string, unknown>>();
  const given = (flags[operation] as readonly Flag[]).map(
    (flag) => [flag.field, values[optionOf(flag).attributeName()]] as const,
  );
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

function optionOf({ field, help, kind, placeholder, words }: Flag): Option {
  const name = `--${field.replaceAll("_", "-")}`;
  if (kind === "boolean") return new Option(name, help);
  const option = new Option(`${name} <${placeholder}>`, help);
  // The words of a list are checked by its parser, in the place of commander's own.
  if (words !== undefined && kind !== "list") option.choices(words);
  if (kind === "number") option.argParser(numberOf);
  if (kind === "pairs") option.argParser(collectPair);
  if (kind === "list")
    option.argParser((text: string, before?: readonly string[]) => collectText(wordOf(text, words), before));
  return option;
}

function wordOf(text: string, words: readonly string[] = [text]): string {
  if (!words.includes(text)) throw new InvalidArgumentError(`It must be one of ${words.join(", ")}.`);
  return text;
}

function numberOf(text: string): number {
  if (!/^-?\d{1,15}(?:\.\d{1,6})?$/.test(text)) throw new InvalidArgumentError("It must be a number.");
  return Number(text);
}
