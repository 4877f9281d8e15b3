// `skerry audit`: who did what in the organization.

import { auditFormats, type AuditFormat } from "@skerry/contract/audit/audit-formats";
import { PAGE_MAX } from "@skerry/contract/bounds";
import { isId } from "@skerry/contract/ids";
import type { AuditEvent, AuditFilter, Skerry } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples, given, wholeNumber } from "../input/options.ts";
import { timeMeant } from "../output/relative-times.ts";
import { idMeant } from "../targets.ts";
import {
  here,
  MEMBER_ARGUMENT,
  memberTarget,
  TOKEN_ARGUMENT,
  tokenTarget,
} from "./organizations/organization-targets.ts";
import { resourceMeant } from "./resource-meant.ts";

interface FilterFlags {
  readonly action?: string;
  readonly resource?: string;
  readonly user?: string;
  readonly tokenId?: string;
  readonly since?: string;
  readonly until?: string;
}

interface ListFlags extends FilterFlags {
  readonly limit?: number;
  readonly all?: boolean;
  readonly ids?: boolean;
  readonly json?: boolean;
}

export function registerAuditCommands(program: Command, cli: Cli): void {
  const audit = program.command("audit").description("Who did what in the organization; for its admins.");
  registerList(audit, cli);
  registerExport(audit, cli);
}

function withFilter(command: Command): Command {
  return command
    .option("--action <action>", "only this action, such as sandbox.create")
    .option("--resource <id>", "only what was done to it: its id, the beginning of it, or its name")
    .option("--user <user>", `only what this user did: ${MEMBER_ARGUMENT}`)
    .option("--token-id <id>", `only what was done with it: ${TOKEN_ARGUMENT}`)
    .option("--since <time>", "only events at or after it: 1h for an hour ago, or a time in ISO 8601")
    .option("--until <time>", "only events before it: the same");
}

function registerList(audit: Command, cli: Cli): void {
  const command = withFilter(
    audit
      .command("list")
      .description("List the events, newest first; one may stand for many equal refusals."),
  )
    .addOption(
      new Option("--limit <count>", `how many to list, 1 to ${PAGE_MAX} (default: 50)`)
        .argParser((text: string) => wholeNumber(text, PAGE_MAX))
        .conflicts("all"),
    )
    .option("--all", "list every one")
    .option("--ids", "show ids where there are names")
    .option("--json", "print JSON, as the API has it")
    .action((flags: ListFlags, self: Command) => listEvents(cli, flags, self));
  addExamples(
    command,
    "skerry audit list --since 1h --user Ada",
    "skerry audit list --since 2026-11-20",
    "skerry audit list --resource sbx_01jd3...",
    "skerry audit list --action token.create --all --json | jq -r '.items[].actor.user_id'",
  );
}

function registerExport(audit: Command, cli: Cli): void {
  const command = withFilter(
    audit.command("export").description("Write all events to standard output, newest first."),
  )
    .addOption(
      new Option("--format <format>", "JSON, an event a line, or CSV")
        .choices(auditFormats)
        .default("ndjson"),
    )
    .action(async (flags: FilterFlags & { readonly format: AuditFormat }, self: Command) => {
      const client = await cli.client(self);
      const filter = { ...(await filterOf(cli, client, flags)), format: flags.format };
      const text = await client.audit.export(filter, { signal: cli.signal });
      // Resolves when it was taken, so no more comes than is written.
      for await (const chunk of text) await cli.output.bytes("stdout", chunk);
    });
  addExamples(
    command,
    "skerry audit export --since 2026-11-01 --format csv > november.csv",
    "skerry audit export --since 24h | jq -r 'select(.outcome == \"denied\").action'",
  );
}

async function listEvents(cli: Cli, flags: ListFlags, self: Command): Promise<void> {
  const client = await cli.client(self);
  const { audit } = client;
  const filter = await filterOf(cli, client, flags);
  const options = { signal: cli.signal };
  if (flags.all !== true) {
    const page = await audit.page({ ...filter, limit: flags.limit }, options);
    if (flags.json === true) return cli.output.json(page);
    await showEvents(cli, page.items, flags);
    if (page.next_cursor !== null) await cli.output.note("There are more; use --all, or --until.");
    return;
  }
  const items: AuditEvent[] = [];
  for await (const item of audit.list(filter, options)) items.push(item);
  if (flags.json === true) return cli.output.json({ items, next_cursor: null });
  await showEvents(cli, items, flags);
}

async function filterOf(
  cli: Cli,
  client: Skerry,
  { action, resource, user, tokenId, since, until }: FilterFlags,
): Promise<AuditFilter> {
  const { signal } = cli;
  const member = async (text: string) =>
    // Who is no member any more is found by the id alone.
    isId("user", text) ? text : idMeant(memberTarget(client, await here(client, signal), signal), text);
  return given({
    action,
    resource_id: resource === undefined ? undefined : await resourceMeant(client, resource, signal),
    user_id: user === undefined ? undefined : await member(user),
    token_id: tokenId === undefined ? undefined : await idMeant(tokenTarget(client, signal), tokenId),
    since: since === undefined ? undefined : timeMeant(since),
    until: until === undefined ? undefined : timeMeant(until),
  });
}

function showEvents(cli: Cli, events: readonly AuditEvent[], { ids = false }: ListFlags): Promise<void> {
  // A server of a version before sends no names.
  const shown = (id: string | null, name?: string | null) => (ids ? id : (name ?? id)) ?? "-";
  // Only organizations that want them have any.
  const withDetails = events.some(({ detail }) => detail !== null);
  return cli.output.table(
    ["TIME", "ACTION", "RESOURCE", "OUTCOME", "BY", "TOKEN", "FROM", ...(withDetails ? ["DETAIL"] : [])],
    events.map(({ at, action, resource, outcome, code, count, actor, detail }) => [
      at,
      action,
      resourceText(resource, ids),
      `${outcome}${code === null ? "" : ` (${code})`}${count > 1 ? `, ${count} times` : ""}`,
      actor.service ?? shown(actor.user_id, actor.user_name),
      shown(actor.token_id, actor.token_name),
      actor.address ?? "-",
      ...(withDetails ? [detail ?? "-"] : []),
    ]),
    { words: [3], whole: [1], minor: [6, 5, 4] },
  );
}

function resourceText({ kind, id, name }: AuditEvent["resource"], ids: boolean): string {
  if (!ids && name != null) return `${kind} ${name}`;
  return id ?? "-";
}
