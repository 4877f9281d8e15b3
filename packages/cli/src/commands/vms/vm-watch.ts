// `watch` of sandboxes and machines: what changes in a directory there, until Ctrl-C.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";

interface WatchFlags {
  readonly recursive?: boolean;
  readonly json?: boolean;
}

export function registerVmWatch(parent: Command, cli: Cli, vm: VmNoun): void {
  const { noun, id: example } = vm;
  const command = parent
    .command("watch")
    .description(`Print what changes in a directory of a ${noun}, a line for each event, until Ctrl-C.`)
    .argument("<id>", idArgument(vm))
    .argument("<directory>", "absolute path")
    .option("-r, --recursive", "also the directories below it")
    .option("--json", "print JSON, an event a line")
    .action(async (text: string, path: string, flags: WatchFlags, self: Command) => {
      const client = await cli.client(self);
      const { recursive } = flags;
      await onTarget(vm.target(client, cli.signal, "watch"), text, async (id) => {
        const events = vm.calls(client).files(id).watch(path, { recursive, signal: cli.signal });
        for await (const event of events)
          await (flags.json === true
            ? cli.output.jsonLine(event)
            : cli.output.line(`${event.event} ${event.path}${event.type === "directory" ? "/" : ""}`));
      });
      await cli.output.note("The directory is gone.");
    });
  addExamples(
    command,
    `skerry ${noun} watch ${example} /srv --recursive`,
    `skerry ${noun} watch ${example} /var/log --json | jq -r 'select(.event == "create").path'`,
  );
}
