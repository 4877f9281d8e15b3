// `skerry sandbox list`, `get`, `keepalive` and `destroy`.

import { sandboxStatuses, type SandboxStatus } from "@skerry/contract/sandboxes/sandbox-status";
import { SANDBOX_TIMEOUT_MAX_MS } from "@skerry/contract/bounds";
import { formatDuration, parseDuration } from "@skerry/contract/durations";
import type { Duration, Sandbox } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addExamples } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { onTarget } from "../../targets.ts";
import { addDeedCommand, addEachCommand } from "../resources/resource-commands.ts";
import { describedFields } from "../vms/vm-fields.ts";
import { expiryText, addVmListFlags, listed, showRest, type Listed, type ListFlags } from "../vms/vm-list.ts";
import { listOrWatch } from "../../watched-list.ts";
import { idArgument, sandboxNoun } from "../vms/vm-noun.ts";

export function registerSandboxLife(sandbox: Command, cli: Cli): void {
  registerList(sandbox, cli);
  registerGet(sandbox, cli);
  registerKeepalive(sandbox, cli);
  registerDestroy(sandbox, cli);
}

function registerList(sandbox: Command, cli: Cli): void {
  const command = addVmListFlags(
    sandbox.command("list").description("List the sandboxes that are alive, newest first."),
    sandboxStatuses,
  ).action((flags: ListFlags<SandboxStatus>, self: Command) => listSandboxes(cli, flags, self));
  addExamples(
    command,
    "skerry sandbox list --status running --counts",
    "skerry sandbox list --watch",
    "skerry sandbox list --metadata job=7 --all --json | jq -r '.items[].id'",
  );
}

async function listSandboxes(cli: Cli, flags: ListFlags<SandboxStatus>, self: Command): Promise<void> {
  const client = await cli.client(self);
  const list = async () => {
    const page = await listed<Sandbox, SandboxStatus>(client.sandboxes, flags, cli.signal);
    const json = { ...page, items: page.items.map(({ info }) => info) };
    return { json, show: () => showSandboxes(cli, page) };
  };
  await listOrWatch(cli, { client, flags, kinds: ["sandbox"], list });
}

async function showSandboxes(cli: Cli, page: Listed<Sandbox>): Promise<void> {
  const whys = page.items.map(({ info }) => info.waits_for?.reason ?? info.reason);
  const hasWhy = whys.some((why) => why != null);
  await cli.output.table(
    ["ID", "NAME", "TEMPLATE", "SIZE", "STATUS", "CREATED", "EXPIRES", ...(hasWhy ? ["WHY"] : [])],
    page.items.map(({ info }, index) => [
      info.id,
      info.name ?? "-",
      info.template,
      info.size,
      info.status,
      relativeTime(info.created_at),
      expiryText(info),
      ...(hasWhy ? [whys[index] ?? "-"] : []),
    ]),
    { whole: [4, 5, 6], minor: [3, 2], spare: [5, 6], prose: hasWhy ? [7] : [] },
  );
  await showRest(cli, page);
}

function registerGet(sandbox: Command, cli: Cli): void {
  addDeedCommand(sandbox, cli, {
    name: "get",
    description: "Show a sandbox.",
    examples: ["skerry sandbox get sbx_01jd3...", "skerry sandbox get sbx_01jd3... --json | jq -r .status"],
    argument: ["<id>", idArgument(sandboxNoun)],
    target: (client, signal) => sandboxNoun.target(client, signal, "get"),
    act: async ({ sandboxes }, id, options) => (await sandboxes.get(id, options)).info,
    waits: {
      statuses: sandboxStatuses,
      wait: async ({ sandboxes }, id, until, options) => (await sandboxes.wait(id, until, options)).info,
    },
    print: (info) => cli.output.fields(describedFields(info)),
  });
}

const MAX = formatDuration(SANDBOX_TIMEOUT_MAX_MS);

function registerKeepalive(sandbox: Command, cli: Cli): void {
  const command = sandbox
    .command("keepalive")
    .description("Push a sandbox's expiry back.")
    .argument("<id>", idArgument(sandboxNoun))
    .option(
      "--timeout <duration>",
      "from now until it is destroyed, at most 24h (default: the sandbox's own)",
    )
    .option("--json", "print the sandbox as JSON")
    .action(
      async (text: string, flags: { readonly timeout?: string; readonly json?: boolean }, self: Command) => {
        const client = await cli.client(self);
        // What was typed may be no duration; the server refuses it and says what one looks like.
        const timeout = flags.timeout as Duration | undefined;
        const { signal } = cli;
        const { before, info } = await onTarget(sandboxNoun.target(client, signal), text, async (id) => {
          // Only to say what has changed: a token that may do this may not have to read.
          const before = await client.sandboxes.get(id, { signal }).catch(() => undefined);
          const kept = await client.sandboxes.keepalive(id, timeout, { signal });
          return { before, info: kept.info };
        });
        if (flags.json === true) return cli.output.json(info);
        await cli.output.line(`${info.id} expires ${info.expires_at}`);
        if (info.expires_at === before?.info.expires_at)
          await cli.output.note("It would have lived longer than that anyway; nothing has changed.");
        if ((parseDuration(flags.timeout ?? "") ?? 0) > SANDBOX_TIMEOUT_MAX_MS)
          await cli.output.note(
            `No sandbox is kept for longer than ${MAX} from now; it was asked for ${flags.timeout}.`,
          );
      },
    );
  addExamples(command, "skerry sandbox keepalive sbx_01jd3... --timeout 1h");
}

function registerDestroy(sandbox: Command, cli: Cli): void {
  addEachCommand(sandbox, cli, {
    name: "destroy",
    description: "Destroy sandboxes, in any status.",
    examples: [
      "skerry sandbox destroy sbx_01jd3... sbx_01jd4...",
      "skerry sandbox list --json | jq -r '.items[].id' | xargs skerry sandbox destroy",
    ],
    argument: ["<id...>", "ids of sandboxes, beginnings of them, or names"],
    target: (client, signal) => sandboxNoun.target(client, signal, "destroy"),
    act: async ({ sandboxes }, id, options) => {
      await sandboxes.destroy(id, options);
      return `${id} destroyed`;
    },
  });
}
