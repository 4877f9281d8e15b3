// `skerry template`: what sandboxes and machines start from.

import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../options.ts";
import { registerTemplateBuild } from "./template-build.ts";

interface ListFlags {
  readonly json?: boolean;
}

export function registerTemplateCommands(program: Command, cli: Cli): void {
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
      const fields = Object.entries(others).filter(([, value]) => value !== null && value !== "");
      await cli.output.fields([
        ...fields.map(
          ([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)] as const,
        ),
        ["disk", `${disk_gib} GiB`],
      ]);
    });
  addExamples(templateShow, "skerry template show base");

  registerTemplateBuild(templates, cli);
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
