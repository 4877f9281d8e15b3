// `skerry sandbox snapshot` and `skerry machine snapshot`.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, given } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";

interface Flags {
  readonly name?: string;
  readonly json?: boolean;
}

export function registerVmSnapshot(vm: Command, cli: Cli, noun: VmNoun): void {
  const command = vm
    .command("snapshot")
    .description(
      `Take a snapshot of a ${noun.noun}'s memory and disk, and print its id. The ${noun.noun} goes on.`,
    )
    .argument("<id>", idArgument(noun))
    .option("--name <name>", "a name that commands take in the place of the id")
    .option("--json", "print the snapshot as JSON")
    .action(async (text: string, flags: Flags, self: Command) => {
      const client = await cli.client(self);
      const options = { signal: cli.signal, ...given({ name: flags.name }) };
      const taken = await onTarget(noun.target(client, cli.signal), text, (id) =>
        cli.waits.during(`Taking a snapshot of ${text}`, () => noun.calls(client).snapshot(id, options)),
      );
      if (flags.json === true) return cli.output.json(taken);
      await cli.output.line(taken.id);
    });
  addExamples(command, `skerry ${noun.noun} snapshot ${noun.id} --name ready`);
}
