// `skerry events`: what changes in the organization, as it changes.

import { resourceEventKinds, type ResourceEventKind } from "@skerry/contract/events/resource-event";
import type { FollowedChange, ResourceEvent } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../cli.ts";
import { addExamples } from "../input/options.ts";

interface Flags {
  readonly follow?: boolean;
  readonly after?: string;
  readonly kind?: readonly ResourceEventKind[];
  readonly json?: boolean;
}

export function registerEventsCommand(program: Command, cli: Cli): void {
  const command = program
    .command("events")
    .description("Print what has changed after a cursor, a line for each resource with its newest state.")
    .option("-f, --follow", "go on until Ctrl-C, from now on where no cursor is given")
    .option("--after <cursor>", "what was printed last of them")
    .addOption(new Option("--kind <kind...>", "only these kinds").choices(resourceEventKinds))
    .option("--json", "print JSON, a change a line")
    .action((flags: Flags, self: Command) => (flags.follow === true ? follow : readOnce)(cli, flags, self));
  addExamples(
    command,
    "skerry events --follow",
    `skerry events --follow --kind sandbox --json | jq -r 'select(.resource.status == "failed").id'`,
  );
}

async function follow(cli: Cli, { after, kind: kinds, json }: Flags, self: Command): Promise<void> {
  const client = await cli.client(self);
  for await (const change of client.events({ after, kinds }, { signal: cli.signal }))
    await print(cli, change, json === true);
}

async function print(cli: Cli, change: FollowedChange, asJson: boolean): Promise<void> {
  if (change.type === "synced") return;
  if (asJson) return cli.output.jsonLine(change);
  if (change.type === "changed") return cli.output.line(lineOf(change));
  await cli.output.note(`The cursor cannot be gone on from (${change.reason}); from here on all is told.`);
}

async function readOnce(cli: Cli, { after, kind: kinds, json }: Flags, self: Command): Promise<void> {
  const client = await cli.client(self);
  let cursor = after;
  for (;;) {
    const page = await client.eventPage({ after: cursor, kinds }, { signal: cli.signal });
    for (const item of page.items)
      await (json === true ? cli.output.jsonLine(item) : cli.output.line(lineOf(item)));
    ({ cursor } = page);
    if (page.reset !== null) await cli.output.note(`The cursor cannot be gone on from (${page.reset}).`);
    if (!page.more) break;
  }
  await cli.output.note(`Go on with: skerry events --after ${cursor}`);
}

function lineOf({ kind, id, resource }: ResourceEvent): string {
  if (resource === null) return `${kind} ${id} is gone`;
  const { status } = resource;
  const name = "name" in resource && resource.name !== id ? resource.name : null;
  return `${kind} ${id} ${status}${name === null ? "" : ` ${name}`}`;
}
