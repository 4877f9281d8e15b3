// `skerry sandbox fork` and `rollback`.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples, wholeNumber } from "../../options.ts";
import { onTarget } from "../../targets.ts";
import { idArgument, sandboxNoun } from "../vms/vm-noun.ts";

interface JsonFlag {
  readonly json?: boolean;
}

const FORKS_MAX = 100;

export function registerSandboxForks(sandbox: Command, cli: Cli): void {
  registerFork(sandbox, cli);
  registerRollback(sandbox, cli);
}

function registerFork(sandbox: Command, cli: Cli): void {
  const command = sandbox
    .command("fork")
    .description(
      "Make sandboxes that go on from a sandbox's memory and disk as they are now; print their ids.",
    )
    .argument("<id>", idArgument(sandboxNoun))
    .option("--count <number>", `how many, at most ${FORKS_MAX} (default: 1)`, (text) =>
      wholeNumber(text, FORKS_MAX),
    )
    .option("--json", "print the sandboxes as JSON")
    .action(async (text: string, flags: JsonFlag & { readonly count?: number }, self: Command) => {
      const client = await cli.client(self);
      const forks = await onTarget(sandboxNoun.target(client, cli.signal), text, (id) =>
        cli.waits.during(`Forking ${text}`, () =>
          client.sandboxes.fork(id, flags.count ?? 1, { signal: cli.signal }),
        ),
      );
      if (flags.json === true) return cli.output.json({ items: forks });
      for (const fork of forks) await cli.output.line(fork.id);
    });
  addExamples(command, "skerry sandbox fork sbx_01jd3... --count 3");
}

function registerRollback(sandbox: Command, cli: Cli): void {
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
