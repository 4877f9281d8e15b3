// `skerry size`: CPUs and memory that a sandbox can have.

import type { Size } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addListCommand } from "./resources/resource-commands.ts";

export function registerPlatformCommands(program: Command, cli: Cli): void {
  const sizes = program.command("size").description("CPUs and memory that a sandbox can have.");
  addListCommand<Size>(sizes, cli, {
    description: "List the sizes.",
    examples: ["skerry size list", "skerry size list --json"],
    read: (client, _query, options) => client.sizes.list(options),
    columns: [
      ["NAME", ({ name }) => name],
      ["CPUS", ({ vcpus, cpu }) => `${vcpus} ${cpu}`],
      ["MEMORY", (one) => `${one.memory_mib} MiB`],
    ],
  });
}
