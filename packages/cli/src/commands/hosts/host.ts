// `skerry host`: the machines that VMs run on, for the operator.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { onTarget } from "../../targets.ts";
import { HOST_ARGUMENT, hostTarget } from "./host-target.ts";
import { registerAuthorityCommands } from "./authority.ts";
import { registerHostViewCommands } from "./host-view.ts";

/** Returns `skerry host`, for the commands that work on the machine itself. */
export function registerHostCommands(program: Command, cli: Cli): Command {
  const host = program.command("host").description("Machines that VMs run on, for the operator.");
  registerHostViewCommands(host, cli);
  registerToken(host, cli);
  registerRemove(host, cli);
  registerAuthorityCommands(host, cli);
  return host;
}

function registerToken(host: Command, cli: Cli): void {
  const command = host
    .command("token")
    .description("Make a token by which one machine becomes a host within the next hour.")
    .option("--json", "print the whole answer as JSON")
    .action(async (flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const created = await client.hosts.createJoinToken({ signal: cli.signal });
      if (flags.json === true) return cli.output.json(created);
      await cli.output.line(created.token);
      await cli.output.note(`For one host, until ${created.expires_at}; it is not shown again.`);
    });
  addExamples(command, "skerry host token");
}

function registerRemove(host: Command, cli: Cli): void {
  const command = host
    .command("remove")
    .description("End a host's membership: it is trusted no more. Drain it first to lose nothing.")
    .argument("<id>", HOST_ARGUMENT)
    .option(
      "--force",
      "also with sandboxes, machines and snapshots on it, and templates that no other host has, which are lost",
    )
    .action(async (text: string, flags: { readonly force?: boolean }, self: Command) => {
      const { hosts } = await cli.client(self);
      await onTarget(hostTarget(hosts, cli.signal), text, (id) =>
        hosts.remove(id, { force: flags.force === true }, { signal: cli.signal }),
      );
      await cli.output.note(`${text} is removed. On its machine, \`skerry down\` stops it.`);
    });
  addExamples(command, "skerry host remove hst_01jd3...");
}
