// What several commands have in common: how values of options are read, and how help shows examples.

import { durationHelp, isNoBound, parseDuration } from "@skerry/contract/durations";
import { InvalidArgumentError, type Command } from "commander";

/** Reads one `KEY=VALUE` more. The value may be empty and may hold further `=`. */
export function collectPair(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const split = text.indexOf("=");
  if (split < 1) throw new InvalidArgumentError("It must have the form KEY=VALUE.");
  // From entries, because assigning to a key such as `__proto__` would lose it.
  return Object.fromEntries([...Object.entries(before), [text.slice(0, split), text.slice(split + 1)]]);
}

export function collectText(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** A path that looks like a flag is one whose own path was forgotten. */
export function collectPath(text: string, before: readonly string[] = []): readonly string[] {
  if (text.startsWith("--"))
    throw new InvalidArgumentError(
      `It takes a path, and "${text}" is a flag. Write "./${text}" for a file of that name.`,
    );
  return [...before, text];
}

const PORT_MAX = 65_535;

export function collectPort(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, portNumber(text)];
}

export function portNumber(text: string): number {
  return wholeNumber(text, PORT_MAX);
}

export function wholeNumber(text: string, max: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > max) throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
  return value;
}

const UNITS = ["", "K", "M", "G", "T"];

/** `500`, `20K`, `1.5G`: bytes, in powers of 1,024. */
export function byteCount(text: string): number {
  const [, digits = "", unit = ""] = /^(\d{1,15}(?:\.\d{1,3})?)([KMGT]?)$/i.exec(text) ?? [];
  const bytes = Math.floor(Number(digits) * 1024 ** UNITS.indexOf(unit.toUpperCase()));
  if (digits === "" || !Number.isSafeInteger(bytes))
    throw new InvalidArgumentError("It must be a number of bytes, such as 1000, 20K, 500M or 2G.");
  return bytes;
}

/** A duration; a plain 0 is none, as of `timeout` and `docker stop`. */
export function durationOrNone(text: string): string {
  const known = text === "0" ? "0s" : text;
  if (isNoBound(known) || parseDuration(known) !== undefined) return known;
  throw new InvalidArgumentError(`${durationHelp(text)} Write 0 for none.`);
}

/** The object without its undefined fields, which `--flag` not given leaves behind. */
export function given<Fields extends object>(fields: Fields): Given<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Given<Fields>;
}

type Given<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

export function addExamples(command: Command, ...examples: readonly string[]): Command {
  return command.addHelpText("after", `\nExamples:\n${examples.map((line) => `  $ ${line}`).join("\n")}`);
}
