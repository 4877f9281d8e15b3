// `skerry size`: CPUs and memory that a sandbox can have.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../input/options.ts";

interface ListFlags {
  readonly json?: boolean;
}

export function registerPlatformCommands(program: Command, cli: Cli): void {
  const sizes = program.command("size").description("CPUs and memory that a sandbox can have.");
  const sizeList = sizes
    .command("list")
    .description("List the sizes.")
    .option("--json", "print JSON")
    .action((flags: ListFlags, self: Command) => listSizes(cli, flags, self));
  addExamples(sizeList, "skerry size list", "skerry size list --json");
}

async function listSizes(cli: Cli, flags: ListFlags, self: Command): Promise<void> {
  const client = await cli.client(self);
  const items = await client.sizes.list({ signal: cli.signal });
  if (flags.json === true) return cli.output.json({ items });
  await cli.output.table(
    ["NAME", "CPUS", "MEMORY"],
    items.map(({ name, vcpus, cpu, memory_mib }) => [name, `${vcpus} ${cpu}`, `${memory_mib} MiB`]),
  );
}
