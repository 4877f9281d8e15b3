// Which words can stand where the last one of a command line stands.

import type { Command, Option } from "commander";
import type { Cli } from "../cli.ts";
import { argumentValues, optionValues, type Values } from "./completion-values.ts";

export interface Completion {
  readonly words: readonly string[];
  /** A file of this machine can stand there, too. */
  readonly isFilePossible: boolean;
}

const nothing: Completion = { words: [], isFilePossible: false };
const anyFile: Completion = { words: [], isFilePossible: true };

/** `words` end with the word that is being typed, which may be empty. */
export async function wordsFor(
  program: Command,
  words: readonly string[],
  { cli, self }: { readonly cli: Cli; readonly self: Command },
): Promise<Completion> {
  const typed = withColons(words);
  const beginning = typed.at(-1) ?? "";
  const before = typed.slice(0, -1);
  const { command, operands } = positionIn(program, before);
  const found = await candidates();
  return { ...found, words: found.words.filter((word) => word.startsWith(beginning)) };

  async function candidates(): Promise<Completion> {
    const option = optionOf(command, before.at(-1) ?? "");
    if (option !== undefined && takesValue(option)) {
      if (option.argChoices !== undefined) return { ...nothing, words: option.argChoices };
      const values = optionValues(option.long ?? "");
      return values === undefined ? anyFile : asked(values);
    }
    if (beginning.startsWith("-"))
      return { ...nothing, words: optionsOf(command).map(({ long, short }) => long ?? short ?? "") };
    const names = command
      .createHelp()
      .visibleCommands(command)
      .map((one) => one.name());
    if (names.length > 0) return { ...nothing, words: names };
    return operand();
  }

  async function operand(): Promise<Completion> {
    const all = command.registeredArguments;
    const last = all.at(-1);
    const argument = all[operands] ?? (last?.variadic === true ? last : undefined);
    if (argument === undefined) return nothing;
    if (argument.argChoices !== undefined) return { ...nothing, words: argument.argChoices };
    const isCopy = command.name() === "cp";
    if (isCopy && isInVm(beginning)) return nothing;
    const group = command.parent === program ? command.name() : (command.parent?.name() ?? "");
    const values = argumentValues(group, argument.name());
    if (values === undefined) return anyFile;
    return { ...(await asked(values)), isFilePossible: isCopy };
  }

  async function asked(values: Values): Promise<Completion> {
    return { words: await readValues(cli, self, values), isFilePossible: false };
  }
}

/** Whether the word is `ID:` and a path in it. */
function isInVm(word: string): boolean {
  return /^[^./][^:]*:/.test(word);
}

/** Bash gives an id, the colon behind it and the path as words of their own. */
function withColons(words: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (const [at, word] of words.entries()) {
    const isPart = at > 0 && (word === ":" || (words[at - 1] === ":" && word !== ""));
    if (isPart) joined.push((joined.pop() ?? "") + word);
    else joined.push(word);
  }
  return joined;
}

interface Position {
  readonly command: Command;
  /** How many words of the command's own stand before, without flags and their values. */
  readonly operands: number;
}

function positionIn(program: Command, words: readonly string[]): Position {
  let command = program;
  let operands = 0;
  let isValue = false;
  for (const word of words) {
    const option: Option | undefined = isValue ? undefined : optionOf(command, word);
    const named = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (!isValue && named !== undefined) command = named;
    else if (!isValue && !word.startsWith("-")) operands += 1;
    isValue = option !== undefined && takesValue(option);
  }
  return { command, operands };
}

function optionOf(command: Command, word: string): Option | undefined {
  return optionsOf(command).find(({ long, short }) => word === long || word === short);
}

/** Its own, and those of the program. */
function optionsOf(command: Command): readonly Option[] {
  const help = command.createHelp();
  return [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

/** Longest that a person waits for the TAB key, in milliseconds. */
const ASK_MS = 1_500;

async function readValues(cli: Cli, self: Command, values: Values): Promise<readonly string[]> {
  try {
    const client = await cli.client(self);
    const found = new Set<string>();
    for await (const value of values(client, AbortSignal.timeout(ASK_MS))) found.add(value);
    return [...found];
  } catch {
    // Without a server, or a token, there is nothing to complete.
    return [];
  }
}
