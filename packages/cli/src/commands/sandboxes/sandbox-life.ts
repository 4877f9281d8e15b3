// `skerry sandbox list`, `get`, `keepalive` and `destroy`.

import { sandboxStatuses, type SandboxStatus } from "@skerry/contract/sandboxes/sandbox-status";
import type { Sandbox } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../options.ts";
import { addVmListFlags, describedFields, forEach, listed, type ListFlags } from "../vms/vm-list.ts";

export function registerSandboxLife(sandbox: Command, cli: Cli): void {
  registerList(sandbox, cli);
  registerGet(sandbox, cli);
  registerKeepalive(sandbox, cli);
  registerDestroy(sandbox, cli);
}

function registerList(sandbox: Command, cli: Cli): void {
  const command = addVmListFlags(
    sandbox.command("list").description("List sandboxes, newest first."),
    sandboxStatuses,
  ).action((flags: ListFlags<SandboxStatus>, self: Command) => listSandboxes(cli, flags, self));
  addExamples(
    command,
    "skerry sandbox list --status running",
    "skerry sandbox list --metadata job=7 --all --json | jq -r '.items[].id'",
  );
}

async function listSandboxes(cli: Cli, flags: ListFlags<SandboxStatus>, self: Command): Promise<void> {
  const { sandboxes } = await cli.client(self);
  const page = await listed<Sandbox, SandboxStatus>(sandboxes, flags, cli.signal);
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
      await cli.output.fields(describedFields(info));
    });
  addExamples(
    command,
    "skerry sandbox get sbx_01jd3...",
    "skerry sandbox get sbx_01jd3... --json | jq -r .status",
  );
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
    .description("Destroy sandboxes, in any status.")
    .argument("<id...>", "ids of sandboxes, sbx_...")
    .action(async (ids: readonly string[], _flags: object, self: Command) => {
      const { sandboxes } = await cli.client(self);
      await forEach(cli, ids, async (id) => {
        await sandboxes.destroy(id, { signal: cli.signal });
        await cli.output.line(`${id} destroyed`);
      });
    });
  addExamples(
    command,
    "skerry sandbox destroy sbx_01jd3... sbx_01jd4...",
    "skerry sandbox list --all --json | jq -r '.items[].id' | xargs skerry sandbox destroy",
  );
}
