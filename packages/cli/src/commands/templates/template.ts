// `skerry template`: what sandboxes and machines start from.

import { parseTemplateName } from "@skerry/contract/templates/template-name";
import type { Template } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError } from "../../errors/errors.ts";
import { addExamples } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { printBuildLog } from "../builds/build-log.ts";
import { addDeedCommand, addEachCommand } from "../resources/resource-commands.ts";
import { registerTemplateBuild } from "./template-build.ts";
import { registerTemplatePrepare } from "./template-prepare.ts";
import { registerTemplatePush } from "./template-push.ts";

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

  addDeedCommand(templates, cli, {
    name: "show",
    description: "Show a template.",
    examples: ["skerry template show base"],
    argument: ["<name>", "name or id of the template"],
    act: (client, name, options) => client.templates.get(name, options),
    print: (template) => cli.output.fields(fieldsOf(template)),
  });

  const logs = templates
    .command("logs")
    .description("Print what the build of a template has printed.")
    .argument("<name>", "name or id of the template")
    .action(async (name: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      const template = await client.templates.get(name, { signal: cli.signal });
      if (template.build_id === null) return printMaking(cli, template);
      await printBuildLog(cli, client, template.build_id, {});
    });
  addExamples(logs, "skerry template logs web:42");

  registerTemplatePrepare(templates, cli);
  registerTemplateBuild(templates, cli);
  registerTemplatePush(templates, cli);
  registerVersions(templates, cli);
}

function registerVersions(templates: Command, cli: Cli): void {
  const tag = templates
    .command("tag")
    .description("Have a tag of a name mean another version.")
    .argument("<name:tag>", "the name and the tag")
    .argument("<version>", "id of the version, or NAME:TAG")
    .action(async (text: string, version: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      const { name, tag: word } = parseTemplateName(text);
      await client.templates.tag(name, word, { template: version }, { signal: cli.signal });
      await cli.output.line(`${name}:${word} is ${version}`);
    });
  addExamples(tag, "skerry template tag web:stable web:42");

  addEachCommand(templates, cli, {
    name: "untag",
    description: "Have tags mean nothing any more. Their versions stay.",
    examples: ["skerry template untag web:stable"],
    argument: ["<name:tag...>", "the name and the tag"],
    act: async (client, text, options) => {
      const { name, tag: word } = parseTemplateName(text);
      await client.templates.untag(name, word, options);
      return `${name}:${word} removed`;
    },
  });
  addEachCommand(templates, cli, {
    name: "delete",
    description: "Delete versions of templates. What was made of one has to go first.",
    examples: ["skerry template delete web:42"],
    argument: ["<name...>", "ids, or NAME:TAG"],
    act: async (client, name, options) => {
      await client.templates.delete(name, options);
      return `${name} deleted`;
    },
  });
}

function fieldsOf(template: Template): (readonly [string, string])[] {
  const { disk_gib, source, failure, waits_for: waits, ...others } = template;
  const fields = Object.entries(others).filter(([, value]) => value !== null && value !== "");
  return [
    ...fields.map(
      ([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)] as const,
    ),
    ...(source ? [["source", `${source.image} (${source.digest})`] as const] : []),
    ["disk", `${disk_gib} GiB`],
    ...(waits ? [["why", waits.reason] as const] : whyOf(template)),
    ...(failure?.last_lines ?? []).map((line) => ["last lines", line] as const),
  ];
}

/** The last lines of a built-in template are known where its making has failed. */
async function printMaking({ output }: Cli, template: Template): Promise<void> {
  const { name, failure, waits_for: waits, progress } = template;
  if (!failure && !progress) throw builtIn(template);
  for (const line of failure?.last_lines ?? []) await output.line(line);
  const [why] = waits ? [waits.reason] : whyOf(template).map(([, text]) => text);
  if (why !== undefined) await output.note(`The template "${name}" ${why}.`);
}

/** The row `why` of an image that is being made. */
function whyOf({ status, progress, failure, building_since: since }: Template): [string, string][] {
  if (status !== "building") return [];
  const before = failure ? `; the attempt before failed: ${failure.reason}` : "";
  const how = [since ? `since ${relativeTime(since)}` : "", progress ?? ""].filter(Boolean).join(", ");
  return [["why", `is being built${how === "" ? "" : ` (${how})`}${before}`]];
}

function builtIn({ name, status }: Template): CliError {
  return new CliError("template_without_build", `The template "${name}" is built in, and ${status}.`, {
    remediation: "No build has made it. Where a host fails to make its image, this prints why.",
  });
}

async function listTemplates(cli: Cli, flags: ListFlags, self: Command): Promise<void> {
  const client = await cli.client(self);
  const items = await client.templates.list({ signal: cli.signal });
  if (flags.json === true) return cli.output.json({ items });
  const whys = items.map((item) => item.waits_for?.reason ?? whyOf(item)[0]?.[1] ?? "-");
  const hasWhy = whys.some((why) => why !== "-");
  await cli.output.table(
    ["NAME", "TAGS", "STATUS", "DISK", "DESCRIPTION", "ID", ...(hasWhy ? ["WHY"] : [])],
    items.map(({ id, name, tags, status, disk_gib, description }, index) => [
      ...[name, tags.join(", ") || "-"],
      status,
      `${disk_gib} GiB`,
      description || "-",
      id,
      ...(hasWhy ? [whys[index] ?? "-"] : []),
    ]),
    { words: [1], prose: hasWhy ? [4, 6] : [4], whole: [2], minor: [3], spare: [4, 5] },
  );
}
