/** A line for the shell, or a program and its arguments, in which the shell reads nothing. */
export type Command = string | readonly string[];

export function commandLine(command: Command): string {
  return typeof command === "string" ? command : command.map(shellQuoted).join(" ");
}

function shellQuoted(word: string): string {
  return /^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
