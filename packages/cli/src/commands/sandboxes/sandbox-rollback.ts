// `skerry sandbox rollback`.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../options.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, sandboxNoun } from "../vms/vm-noun.ts";

interface JsonFlag {
  readonly json?: boolean;
}

export function registerSandboxRollback(sandbox: Command, cli: Cli): void {
  const command = sandbox
    .command("rollback")
    .description("Have a sandbox go on from a snapshot; what it was until then is lost.")
    .argument("<id>", idArgument(sandboxNoun))
    .argument("<snapshot>", "id or name of a snapshot of the same template and size")
    .option("--json", "print the sandbox as JSON")
    .action(async (text: string, snapshot: string, flags: JsonFlag, self: Command) => {
      const client = await cli.client(self);
      const { info } = await onTarget(sandboxNoun.target(client, cli.signal), text, (id) =>
        cli.waits.during(`Rolling ${text} back`, () =>
          client.sandboxes.rollback(id, snapshot, { signal: cli.signal }),
        ),
      );
      if (flags.json === true) return cli.output.json(info);
      await cli.output.line(`${info.id} ${info.status}`);
    });
  addExamples(command, "skerry sandbox rollback sbx_01jd3... ready");
}
