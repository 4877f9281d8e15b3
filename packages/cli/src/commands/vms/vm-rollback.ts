// `skerry sandbox rollback` and `skerry machine rollback`.

import type { CallOptions, Machine, SandboxInfo, Skerry } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, type VmNoun } from "./vm-noun.ts";

type Rollback = (id: string, snapshot: string, options: CallOptions) => Promise<SandboxInfo | Machine>;

const rollbackOf = ({ sandboxes, machines }: Skerry, { noun }: VmNoun): Rollback =>
  noun === "sandbox"
    ? async (id, snapshot, options) => (await sandboxes.rollback(id, snapshot, options)).info
    : (id, snapshot, options) => machines.rollback(id, snapshot, options);

export function registerVmRollback(vm: Command, cli: Cli, noun: VmNoun): void {
  const lost =
    noun.noun === "machine"
      ? "what it was until then is lost, with its disk"
      : "what it was until then is lost";
  const command = vm
    .command("rollback")
    .description(`Have a ${noun.noun} go on from a snapshot; ${lost}.`)
    .argument("<id>", idArgument(noun))
    .argument("<snapshot>", "id or name of a snapshot of the same template and size")
    .option("--json", `print the ${noun.noun} as JSON`)
    .action(async (text: string, snapshot: string, flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const found = await onTarget(noun.target(client, cli.signal), text, (id) =>
        cli.waits.during(`Rolling ${text} back`, () =>
          rollbackOf(client, noun)(id, snapshot, { signal: cli.signal }),
        ),
      );
      if (flags.json === true) return cli.output.json(found);
      await cli.output.line(`${found.id} ${found.status}`);
    });
  addExamples(command, `skerry ${noun.noun} rollback ${noun.id} ready`);
}
