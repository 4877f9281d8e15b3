import { Command } from "commander";
import { Cli } from "../../src/cli.ts";
import { registerClientCommands } from "../../src/program/program.ts";

/** Every command that calls the API, such as `sandbox create`. */
export function commandNames(): readonly string[] {
  const program = new Command();
  registerClientCommands(program, new Cli());
  return namesBelow(program);
}

function namesBelow(command: Command): string[] {
  return command.commands.flatMap((one) => {
    const names = one.commands.length === 0 ? [""] : namesBelow(one);
    return names.map((name) => `${one.name()} ${name}`.trim());
  });
}
