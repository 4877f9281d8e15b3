// Which words can stand where the last one of a command line stands.

import type { Command, Option } from "commander";
import type { Cli } from "../cli.ts";
import type { Named } from "../targets.ts";
import { machineNoun, sandboxNoun } from "./vms/vm-noun.ts";

/** `typed` ends with the word that is being typed, which may be empty. */
export async function wordsFor(
  program: Command,
  typed: readonly string[],
  cli: Cli,
  self: Command,
): Promise<readonly string[]> {
  const beginning = typed.at(-1) ?? "";
  const before = typed.slice(0, -1);
  const command = commandOf(program, before);
  const option = optionOf(command, before.at(-1) ?? "");
  const words = await candidates();
  return words.filter((word) => word.startsWith(beginning));

  async function candidates(): Promise<readonly string[]> {
    if (option !== undefined && takesValue(option)) return option.argChoices ?? [];
    if (beginning.startsWith("-")) return optionsOf(command).map(({ long, short }) => long ?? short ?? "");
    const help = command.createHelp();
    const names = help.visibleCommands(command).map((one) => one.name());
    if (names.length > 0) return names;
    const [argument] = command.registeredArguments;
    return argument?.name() === "id" ? idsAndNames(cli, command, self) : (argument?.argChoices ?? []);
  }
}

function commandOf(program: Command, words: readonly string[]): Command {
  let command = program;
  let isValue = false;
  for (const word of words) {
    const option: Option | undefined = isValue ? undefined : optionOf(command, word);
    const named = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (!isValue && named !== undefined) command = named;
    isValue = option !== undefined && takesValue(option);
  }
  return command;
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
/** A name is put on the user's command line as it is, so it may hold nothing that a shell obeys. */
const SAFE_NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u;

async function idsAndNames(cli: Cli, command: Command, self: Command): Promise<readonly string[]> {
  const group = command.parent?.name();
  const nouns = [sandboxNoun, machineNoun].filter(({ noun }) => noun === group);
  // At the top it is a command for machines, such as `logs`.
  const asked = nouns.length === 0 ? [machineNoun] : nouns;
  try {
    const client = await cli.client(self);
    const signal = AbortSignal.timeout(ASK_MS);
    const found: Named[] = [];
    for (const { target } of asked) for await (const item of target(client, signal).list()) found.push(item);
    return found.flatMap(({ id, name }) => (name !== null && SAFE_NAME.test(name) ? [id, name] : [id]));
  } catch {
    // Without a server, or a token, there is nothing to complete.
    return [];
  }
}
