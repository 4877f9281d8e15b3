// `skerry sandbox list`, `get`, `keepalive` and `destroy`.

import { sandboxStatuses, type SandboxStatus } from "@skerry/contract/sandbox-states";
import { PAGE_MAX } from "@skerry/contract/limits";
import type { Page, Sandbox, SandboxInfo } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../cli.ts";
import { exitCodes, failureOf } from "../errors.ts";
import { addExamples, collectPair, given, wholeNumber } from "../options.ts";

export function registerSandboxLife(sandbox: Command, cli: Cli): void {
  registerList(sandbox, cli);
  registerGet(sandbox, cli);
  registerKeepalive(sandbox, cli);
  registerDestroy(sandbox, cli);
}

interface ListFlags {
  readonly status?: SandboxStatus;
  readonly template?: string;
  readonly metadata?: Record<string, string>;
  readonly limit?: number;
  readonly all?: boolean;
  readonly json?: boolean;
}

function registerList(sandbox: Command, cli: Cli): void {
  const command = sandbox
    .command("list")
    .description("List sandboxes, newest first.")
    .addOption(new Option("--status <status>", "only those with it").choices(sandboxStatuses))
    .option("--template <name>", "only those made from it")
    .option("--metadata <KEY=VALUE>", "only those with this label; repeatable", collectPair)
    .addOption(
      new Option("--limit <count>", `how many to list, 1 to ${PAGE_MAX} (default: 50)`)
        .argParser((text: string) => wholeNumber(text, PAGE_MAX))
        .conflicts("all"),
    )
    .option("--all", "list every one")
    .option("--json", "print JSON, as the API has it")
    .action((flags: ListFlags, self: Command) => listSandboxes(cli, flags, self));
  addExamples(
    command,
    "skerry sandbox list --status running",
    "skerry sandbox list --metadata job=7 --all --json | jq -r '.items[].id'",
  );
}

async function listSandboxes(cli: Cli, flags: ListFlags, self: Command): Promise<void> {
  const { sandboxes } = await cli.client(self);
  const { status, template, metadata, limit } = flags;
  const filter = given({ status, template, metadata });
  const options = { signal: cli.signal };
  let page: Page<Sandbox>;
  if (flags.all === true) {
    const items: Sandbox[] = [];
    for await (const item of sandboxes.list(filter, options)) items.push(item);
    page = { items, next_cursor: null };
  } else page = await sandboxes.page({ ...filter, limit }, options);
  if (flags.json === true) return cli.output.json(page);
  await cli.output.table(
    ["ID", "NAME", "TEMPLATE", "SIZE", "STATUS", "EXPIRES"],
    page.items.map(({ info }) => [
      info.id,
      info.name ?? "-",
      info.template,
      info.size,
      info.status,
      info.expires_at,
    ]),
  );
  if (page.next_cursor !== null) await cli.output.note("There are more; --all lists every one.");
}

function registerGet(sandbox: Command, cli: Cli): void {
  const command = sandbox
    .command("get")
    .description("Show a sandbox.")
    .argument("<id>", "id of the sandbox, sbx_...")
    .option("--json", "print JSON")
    .action(async (id: string, flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const { info } = await client.sandboxes.get(id, { signal: cli.signal });
      if (flags.json === true) return cli.output.json(info);
      await cli.output.fields(describe(info));
    });
  addExamples(
    command,
    "skerry sandbox get sbx_01jd3...",
    "skerry sandbox get sbx_01jd3... --json | jq -r .status",
  );
}

/** Every field that has something to say. */
function describe(info: SandboxInfo): [string, string][] {
  const fields = Object.entries(info).map(([name, value]): [string, string] => [
    name,
    typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? ""),
  ]);
  return fields.filter(([, text]) => text !== "" && text !== "{}");
}

function registerKeepalive(sandbox: Command, cli: Cli): void {
  const command = sandbox
    .command("keepalive")
    .description("Push a sandbox's expiry back.")
    .argument("<id>", "id of the sandbox, sbx_...")
    .option(
      "--timeout <duration>",
      "from now until it is destroyed, at most 24h (default: the sandbox's own)",
    )
    .option("--json", "print the sandbox as JSON")
    .action(
      async (id: string, flags: { readonly timeout?: string; readonly json?: boolean }, self: Command) => {
        const client = await cli.client(self);
        const { info } = await client.sandboxes.keepalive(id, flags.timeout, { signal: cli.signal });
        if (flags.json === true) return cli.output.json(info);
        await cli.output.line(`${info.id} expires ${info.expires_at}`);
      },
    );
  addExamples(command, "skerry sandbox keepalive sbx_01jd3... --timeout 1h");
}

function registerDestroy(sandbox: Command, cli: Cli): void {
  const command = sandbox
    .command("destroy")
    .description("Destroy sandboxes, whatever they are doing.")
    .argument("<id...>", "ids of sandboxes, sbx_...")
    .action(async (ids: readonly string[], _flags: object, self: Command) => {
      const client = await cli.client(self);
      for (const id of ids) {
        try {
          await client.sandboxes.destroy(id, { signal: cli.signal });
          await cli.output.line(`${id} destroyed`);
        } catch (error) {
          // One that is not there must not keep the others alive; a Ctrl-C must.
          if (cli.signal.aborted) throw error;
          await cli.output.failure(failureOf(error));
          cli.exitCode = exitCodes.failed;
        }
      }
    });
  addExamples(
    command,
    "skerry sandbox destroy sbx_01jd3... sbx_01jd4...",
    "skerry sandbox list --all --json | jq -r '.items[].id' | xargs skerry sandbox destroy",
  );
}
