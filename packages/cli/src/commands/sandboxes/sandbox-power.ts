// `skerry sandbox pause` and `resume`.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { forEach } from "../vms/vm-list.ts";
import { sandboxNoun } from "../vms/vm-noun.ts";

const powerCommands = [
  {
    verb: "pause",
    description:
      "Pause persistent sandboxes: memory and disk are kept as files, and every call into them resumes them.",
    doing: "Pausing",
  },
  {
    verb: "resume",
    description: "Resume paused sandboxes where they were; their timeouts begin anew.",
    doing: "Resuming",
  },
] as const;

export function registerSandboxPower(sandbox: Command, cli: Cli): void {
  for (const { verb, description, doing } of powerCommands) {
    const command = sandbox
      .command(verb)
      .description(description)
      .argument("<id...>", "ids of sandboxes, beginnings of them, or names")
      .option("--json", "print the sandboxes as JSON")
      .action(async (texts: readonly string[], flags: { readonly json?: boolean }, self: Command) => {
        const client = await cli.client(self);
        const target = sandboxNoun.target(client, cli.signal);
        await forEach(cli, texts, async (text) => {
          const { info } = await onTarget(target, text, (id) =>
            cli.waits.during(`${doing} ${text}`, () => client.sandboxes[verb](id, { signal: cli.signal })),
          );
          if (flags.json === true) return cli.output.json(info);
          await cli.output.line(`${info.id} ${info.status}`);
        });
      });
    addExamples(command, `skerry sandbox ${verb} sbx_01jd3...`);
  }
}
