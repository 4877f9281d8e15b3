// What the whole tree of commands gets once it is complete: what an unknown command is answered with, aliases, and help that fits.

import type { Command } from "commander";

export function completeTree(command: Command): void {
  const names = command.commands.map((one) => one.name());
  for (const one of command.commands) {
    // The same deed under both names.
    if (one.name() === "get") one.alias("show");
    if (one.name() === "show") one.alias("get");
  }
  if (names.length > 0) command.showHelpAfterError(commandsText(command));
  // Which arguments a command has decides elsewhere whether errors are JSON; here it learns to take the flag.
  else if (!command.options.some(({ long }) => long === "--json"))
    command.option("--json", "print errors as JSON");
  for (const one of command.commands) completeTree(one);
}

function commandsText(command: Command): string {
  // The program has some fifty commands, which is too many for a line.
  if (command.parent === null) return "`skerry --help` lists the commands.";
  const visible = command.createHelp().visibleCommands(command);
  if (visible.length === 0) return `\`skerry ${command.name()} --help\` shows how it is used.`;
  return `Its commands: ${visible.map((one) => one.name()).join(", ")}.`;
}
