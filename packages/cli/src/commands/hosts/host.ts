// `skerry host`: the machines that VMs run on, for the operator.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addDeedCommand } from "../resources/resource-commands.ts";
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
  addDeedCommand(host, cli, {
    name: "token",
    description: "Make a token by which one machine becomes a host within the next hour.",
    examples: ["skerry host token"],
    act: ({ hosts }, _id, options) => hosts.createJoinToken(options),
    print: async ({ token, expires_at }) => {
      await cli.output.line(token);
      await cli.output.note(`For one host, until ${expires_at}; it is not shown again.`);
    },
  });
}

function registerRemove(host: Command, cli: Cli): void {
  addDeedCommand(host, cli, {
    name: "remove",
    withoutJson: true,
    description: "End a host's membership: it is trusted no more. Drain it first to lose nothing.",
    examples: ["skerry host remove hst_01jd3..."],
    argument: ["<id>", HOST_ARGUMENT],
    target: ({ hosts }, signal) => hostTarget(hosts, signal),
    operation: "removeHost",
    act: async ({ hosts }, id, options, query) => {
      await hosts.remove(id, query, options);
      return { id };
    },
    print: ({ id }) => cli.output.note(`${id} is removed. On its machine, \`skerry down\` stops it.`),
  });
}
