// What the lists of sandboxes and of machines have in common.

import { PAGE_MAX } from "@skerry/contract/bounds";
import type { CallOptions, CountedPage, CountedPageOptions, Machine, SandboxInfo } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { countsText } from "../../output/counts-text.ts";
import { exitCodes } from "../../errors/errors.ts";
import { relativeTime, timeMeant } from "../../output/relative-times.ts";
import { collectPair, given, wholeNumber } from "../../input/options.ts";
import { addWatchFlag } from "../../watched-list.ts";

export interface ListFlags<Status extends string> {
  readonly status?: Status;
  readonly template?: string;
  readonly host?: string;
  readonly owner?: string;
  readonly search?: string;
  readonly createdAfter?: string;
  readonly crashLoop?: boolean;
  readonly unhealthy?: boolean;
  readonly metadata?: Record<string, string>;
  readonly limit?: number;
  readonly all?: boolean;
  readonly counts?: boolean;
  readonly watch?: boolean;
  readonly json?: boolean;
}

export function addVmListFlags(command: Command, statuses: readonly string[]): Command {
  return addWatchFlag(command)
    .addOption(
      new Option("--status <status>", "only those with it, also those that have ended").choices(statuses),
    )
    .option("--template <name>", "only those made from it, in any version where it has no tag")
    .option("--host <id>", "only those on this host")
    .option(
      "--owner <owner>",
      "only those that belong to it: KIND, KIND:NAME, `none`, or `any` (default: none, but any with --host, --search, --crash-loop, --unhealthy, and --status failed or unreachable)",
    )
    .option("--search <text>", "only those whose name, or id, begins with it")
    .option("--created-after <time>", "only those made after it: 1h for an hour ago, or a time in ISO 8601")
    .option("--metadata <KEY=VALUE>", "only those with this label; repeatable", collectPair)
    .addOption(
      new Option("--limit <count>", `how many to list, 1 to ${PAGE_MAX} (default: 50)`)
        .argParser((text: string) => wholeNumber(text, PAGE_MAX))
        .conflicts("all"),
    )
    .option("-a, --all", "list every page, and those that have ended too (default: those that are alive)")
    .option("--counts", "say too how many there are of each status, whatever --status says")
    .option("--json", "print JSON, as the API has it, with times in UTC");
}

interface Filter<Status extends string> {
  readonly status?: Status;
  readonly alive?: boolean;
  readonly crashLoop?: boolean;
  readonly unhealthy?: boolean;
  readonly host?: string;
  readonly owner?: string;
  readonly q?: string;
  readonly createdAfter?: string;
  readonly template?: string;
  readonly metadata?: Record<string, string>;
}

interface Listing<Item, Status extends string> {
  list(filter: Filter<Status>, options: CallOptions): AsyncIterable<Item>;
  page(
    query: Filter<Status> & CountedPageOptions,
    options: CallOptions,
  ): Promise<CountedPage<Item, Readonly<Record<string, number>>>>;
}

/** One page, or all. */
export type Listed<Item> = CountedPage<Item, Readonly<Record<string, number>>>;

/** One page of those that are alive, or that have the status; with `--all` everything as one. */
export async function listed<Item, Status extends string>(
  items: Listing<Item, Status>,
  flags: ListFlags<Status>,
  signal: AbortSignal,
): Promise<Listed<Item>> {
  const { status, template, metadata, limit, counts, host, search: q, crashLoop, unhealthy } = flags;
  const owner = ownerShown(flags);
  const createdAfter = flags.createdAfter === undefined ? undefined : timeMeant(flags.createdAfter);
  const filter: Filter<Status> = given({
    ...{ status, template, metadata, host, owner, q, createdAfter, crashLoop, unhealthy },
  });
  if (flags.all !== true) {
    const alive = status === undefined ? { alive: true } : {};
    return items.page({ ...filter, ...alive, limit, counts }, { signal });
  }
  const counted = counts === true ? await items.page({ ...filter, limit: 1, counts }, { signal }) : {};
  const found: Item[] = [];
  for await (const item of items.list(filter, { signal })) found.push(item);
  return { ...counted, items: found, next_cursor: null };
}

/** VMs of a resource are left out, unless the question is how a host or the VMs fare, or which has this name or id. */
function ownerShown(flags: ListFlags<string>): string | undefined {
  const { owner, host, search, status, crashLoop, unhealthy } = flags;
  const isOfHealth =
    [host, search].some((one) => one !== undefined) ||
    ["failed", "unreachable"].includes(status ?? "") ||
    crashLoop === true ||
    unhealthy === true;
  return owner ?? (isOfHealth ? undefined : "none");
}

/** What is said below the table. */
export async function showRest(
  { output }: Cli,
  { counts, next_cursor }: Omit<Listed<never>, "items">,
): Promise<void> {
  if (counts !== undefined) {
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
    await output.line(`${all} in all${all === 0 ? "" : `: ${countsText(counts)}`}`);
  }
  if (next_cursor !== null) await output.note("There are more; --all lists the others too.");
}

/** One that fails does not keep the others from their turn; a Ctrl-C does. */
export async function forEach(
  cli: Cli,
  ids: Iterable<string>,
  work: (id: string) => Promise<void>,
): Promise<void> {
  for (const id of ids) {
    try {
      await work(id);
    } catch (error) {
      if (cli.signal.aborted) throw error;
      await cli.fail(error);
      cli.exitCode = exitCodes.failed;
    }
  }
}

/** With what the health check of a machine that runs says, in docker's words. */
export function statusText(vm: SandboxInfo | Machine): string {
  // A server of a version before tells of no health.
  if (vm.status !== "running" || !("health" in vm) || vm.health == null) return vm.status;
  return `${vm.status} (${healthWords[vm.health.status] ?? `health: ${vm.health.status}`})`;
}

const healthWords: Partial<Readonly<Record<NonNullable<Machine["health"]>["status"], string>>> = {
  passing: "healthy",
  failing: "unhealthy",
};

/** When its time is over. Machines have none, and while a sandbox is paused nothing expires. */
export function expiryText(vm: SandboxInfo | Machine): string {
  if (["destroyed", "paused"].includes(vm.status) || !("expires_at" in vm)) return "-";
  return relativeTime(vm.expires_at);
}
