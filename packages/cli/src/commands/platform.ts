// `skerry template` and `skerry size`: what sandboxes can be made of.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../options.ts";

interface ListFlags {
  readonly json?: boolean;
}

export function registerPlatformCommands(program: Command, cli: Cli): void {
  const templates = program.command("template").description("What a sandbox starts from.");
  const templateList = templates
    .command("list")
    .description("List the templates.")
    .option("--json", "print JSON")
    .action((flags: ListFlags, self: Command) => listTemplates(cli, flags, self));
  addExamples(templateList, "skerry template list", "skerry template list --json");

  const templateShow = templates
    .command("show")
    .description("Show a template.")
    .argument("<name>", "name or id of the template")
    .option("--json", "print JSON")
    .action(async (name: string, flags: ListFlags, self: Command) => {
      const client = await cli.client(self);
      const template = await client.templates.get(name, { signal: cli.signal });
      if (flags.json === true) return cli.output.json(template);
      const { disk_gib, ...others } = template;
      await cli.output.fields([...Object.entries(others), ["disk", `${disk_gib} GiB`]]);
    });
  addExamples(templateShow, "skerry template show base");

  const sizes = program.command("size").description("CPUs and memory that a sandbox can have.");
  const sizeList = sizes
    .command("list")
    .description("List the sizes.")
    .option("--json", "print JSON")
    .action((flags: ListFlags, self: Command) => listSizes(cli, flags, self));
  addExamples(sizeList, "skerry size list", "skerry size list --json");
}

async function listTemplates(cli: Cli, flags: ListFlags, self: Command): Promise<void> {
  const client = await cli.client(self);
  const items = await client.templates.list({ signal: cli.signal });
  if (flags.json === true) return cli.output.json({ items });
  await cli.output.table(
    ["NAME", "STATUS", "DISK", "DESCRIPTION", "ID"],
    items.map(({ id, name, status, disk_gib, description }) => [
      name,
      status,
      `${disk_gib} GiB`,
      description,
      id,
    ]),
    { prose: [3] },
  );
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
