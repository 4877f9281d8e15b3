// The command of an image, which VMs of a template do not run unless they are told to: what runs in each of
// them is the template's start, and what a machine runs is its own.

const SHOWN_MAX_CHARS = 200;

/** A shell or an interpreter without a program waits for a person, whom VMs do not have. */
const INTERACTIVE = /^(\S*\/)?((ba|da|a|z)?sh|python3?|node|irb|ghci|jshell)$/;

/** As sentences; none where there is nothing to run, or `start` says what is. */
export function unusedCommand(command: string | null, start: object | undefined): readonly string[] {
  if (command === null || start !== undefined || INTERACTIVE.test(command)) return [];
  const shown =
    command.length > SHOWN_MAX_CHARS ? `${command.slice(0, SHOWN_MAX_CHARS).toWellFormed()}…` : command;
  return [
    `Its command is not run by itself: ${shown.replaceAll(/\s+/g, " ")}`,
    "Build with --start COMMAND (`start`) to have every VM wake with it running, or give it to a machine: skerry machine create --command COMMAND",
  ];
}
