// `skerry template prepare`: images of built-in templates before their first user.

import { setTimeout as sleep } from "node:timers/promises";
import type { Skerry, Template } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError } from "../../errors/errors.ts";
import { addExamples } from "../../input/options.ts";
import { forEach } from "../vms/vm-list.ts";

const LOOK_MS = 2_000;

export function registerTemplatePrepare(templates: Command, cli: Cli): void {
  const prepare = templates
    .command("prepare")
    .description("Have hosts make the images of built-in templates now, before anything is made of them.")
    .argument("<name...>", "names of built-in templates")
    .option("--wait", "wait until they are made")
    .action(async (names: readonly string[], flags: { readonly wait?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const asked = new Map<string, Template>();
      // All first: hosts make them while the first is waited for.
      await forEach(cli, names, async (name) => {
        asked.set(name, await client.templates.prepare(name, { signal: cli.signal }));
      });
      await forEach(cli, asked.keys(), async (name) => {
        const template =
          flags.wait === true ? await made(cli, client, name, asked.get(name)) : asked.get(name);
        await cli.output.line(`${name} ${template?.status ?? ""}`);
      });
      const isUnderWay = [...asked.values()].some(({ status }) => status === "building");
      if (flags.wait !== true && isUnderWay)
        await cli.output.note(
          "`skerry template list` shows how far they are; --wait waits until they are made.",
        );
    });
  addExamples(prepare, "skerry template prepare code-interpreter node", "skerry template prepare --wait ci");
}

/**
 * Resolves when a host has made it. Throws where the making fails, with the reason. Hosts tell of their
 * images by heartbeat, so the failure that `before` shows may be told for some seconds more.
 */
function made(cli: Cli, client: Skerry, name: string, before?: Template): Promise<Template> {
  return cli.waits.during(`Making the image of ${name}`, async () => {
    for (;;) {
      const template = await client.templates.get(name, { signal: cli.signal });
      if (template.status === "ready") return template;
      const isNew = template.failure?.failed_at !== before?.failure?.failed_at;
      if (template.status === "failed" && isNew)
        throw new CliError("template_not_ready", `The image of "${name}" could not be made.`, {
          ...(template.failure ? { lines: [template.failure.reason] } : {}),
          remediation: `skerry template logs ${name}`,
        });
      if (template.progress) cli.waits.tell(template.progress);
      await sleep(LOOK_MS, undefined, { signal: cli.signal });
    }
  });
}
