// Commands that take a sandbox or a machine, whichever the id or the name is of: `skerry ps`, `skerry logs`.

import { logLevels } from "@skerry/contract/apps/app-logs";
import { isId, kindOf } from "@skerry/contract/ids";
import type { Machine, SandboxInfo, Skerry } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../cli.ts";
import { CliError, exitCodes } from "../errors/errors.ts";
import { noneIfForbidden } from "../errors/forbidden.ts";
import { addExamples, wholeNumber } from "../input/options.ts";
import { addWatchFlag, listOrWatch, type Listing, type WatchFlags } from "../watched-list.ts";
import { relativeTime } from "../output/relative-times.ts";
import { onTarget } from "../targets.ts";
import { showAppLog, type AppLogFlags } from "./apps/app-logs.ts";
import { addLogFlags, showLogs } from "./machines/machine-logs.ts";
import { showSandboxLog } from "./sandboxes/sandbox-logs.ts";
import { findVm } from "./vms/find-vm.ts";
import { expiryText, statusText } from "./vms/vm-list.ts";
import { machineNoun, sandboxNoun } from "./vms/vm-noun.ts";

export function registerEitherVmCommands(program: Command, cli: Cli): void {
  registerPs(program, cli);
  registerLogs(program, cli);
}

interface PsFlags extends WatchFlags {
  readonly all?: boolean;
}

function registerPs(program: Command, cli: Cli): void {
  const command = addWatchFlag(
    program
      .command("ps")
      .description(
        "List the sandboxes and machines that are alive, newest first, without those of an app or another resource.",
      ),
  )
    .option("-a, --all", "also those that have ended")
    .option("--json", "print JSON, with times in UTC")
    .action((flags: PsFlags, self: Command) => listBoth(cli, flags, self));
  addExamples(command, "skerry ps", "skerry ps --watch", "skerry ps --json | jq -r '.machines[].id'");
}

async function listBoth(cli: Cli, flags: PsFlags, self: Command): Promise<void> {
  const client = await cli.client(self);
  // What the token may not read is said once.
  const hidden = new Set<string>();
  const list = () => listOfBoth(cli, { client, flags, hidden });
  await listOrWatch(cli, { client, flags, kinds: ["sandbox", "machine"], someMayBeHidden: true, list });
}

async function listOfBoth(
  cli: Cli,
  {
    client,
    flags,
    hidden,
  }: { readonly client: Skerry; readonly flags: PsFlags; readonly hidden: Set<string> },
): Promise<Listing> {
  const { sandboxes, machines } = client;
  const filter = { owner: "none", ...(flags.all === true ? {} : { alive: true }) };
  const options = { signal: cli.signal };
  const [sandboxInfos = [], machineInfos = []] = await seenOf(cli, hidden, [
    ["Sandboxes", allOf(sandboxes.list(filter, options), ({ info }): SandboxInfo | Machine => info)],
    ["Machines", allOf(machines.list(filter, options), (machine): SandboxInfo | Machine => machine)],
  ]);
  const json = { sandboxes: sandboxInfos, machines: machineInfos };
  return { json, show: () => showBoth(cli, [...sandboxInfos, ...machineInfos]) };
}

function showBoth(cli: Cli, vms: readonly (SandboxInfo | Machine)[]): Promise<void> {
  const rows = vms.toSorted((one, other) => other.created_at.localeCompare(one.created_at));
  return cli.output.table(
    ["ID", "NAME", "TEMPLATE", "SIZE", "STATUS", "CREATED", "EXPIRES"],
    rows.map((vm) => [
      ...[vm.id, vm.name ?? "-", vm.template, vm.size, statusText(vm)],
      relativeTime(vm.created_at),
      expiryText(vm),
    ]),
    { whole: [4, 5, 6], minor: [3, 2], spare: [5, 6] },
  );
}

/** Those lists that the token may see, empty in the place of others; what it may not see is said. Throws where it may see none. */
async function seenOf<T>(
  cli: Cli,
  hidden: Set<string>,
  lists: readonly (readonly [what: string, list: Promise<T[]>])[],
): Promise<T[][]> {
  const settled = await Promise.allSettled(lists.map(([, list]) => list));
  const [failed] = settled.filter((result) => result.status === "rejected");
  if (failed !== undefined && settled.every((result) => result.status === "rejected")) throw failed.reason;
  const seen: T[][] = [];
  for (const [index, result] of settled.entries()) {
    if (result.status === "rejected") {
      noneIfForbidden(result.reason);
      const what = lists[index]?.[0] ?? "";
      if (!hidden.has(what)) await cli.output.note(`${what} are not shown: the token may not read them.`);
      hidden.add(what);
    }
    seen.push(result.status === "fulfilled" ? result.value : []);
  }
  return seen;
}

async function allOf<Item, Shown>(
  items: AsyncIterable<Item>,
  shown: (item: Item) => Shown,
): Promise<Shown[]> {
  const all: Shown[] = [];
  for await (const item of items) all.push(shown(item));
  return all;
}

function registerLogs(program: Command, cli: Cli): void {
  const command = addLogFlags(
    program
      .command("logs")
      .description(
        "Show what the instances of an app or the main processes of machines have printed, or the commands of a sandbox.",
      )
      .argument("[id...]", "ids, beginnings of them, or names; none with --app"),
  )
    .option("--app <name>", "all instances of this app, also those that are gone")
    .option("--group <group>", "with --app: only instances of the group")
    .option("--instance <name>", "with --app: only this one, such as web.1")
    .option("--release <number>", "with --app: only instances of the release", releaseNumber)
    .option("--deploy <id>", "with --app: only instances of the release of this deploy")
    .addOption(
      new Option("--level <level>", "with --app: only lines of at least this level").choices(logLevels),
    );
  command.action(async (texts: readonly string[], flags: AppLogFlags, self: Command) => {
    if ((flags.app === undefined) === (texts.length === 0)) throw eitherAppOrIds();
    const client = await cli.client(self);
    if (flags.app !== undefined) return showAppLog(cli, client, { app: flags.app, flags });
    await showLogs(cli, { client, texts, flags, onMachine: orSandboxLog(cli, client) });
  });
  addExamples(
    command,
    "skerry logs web --follow",
    "skerry logs mch_01jd3... --lines 1000",
    "skerry logs web worker --follow --grep error",
    "skerry logs --app shop --follow",
    "skerry logs --app shop --level warn --since 1h",
    "skerry logs --app shop --release 41 --since 1h --timestamps",
  );
}

const RELEASE_MAX = 1_000_000_000;
const releaseNumber = (text: string) => wholeNumber(text, RELEASE_MAX);

function eitherAppOrIds(): CliError {
  return new CliError("bad_flags", "Nothing says, or several words say, which log is meant.", {
    remediation: "Give --app NAME, or ids of machines and sandboxes.",
    exitCode: exitCodes.usage,
  });
}

/** Works on the machine that a text means; of a sandbox it shows what its commands have printed. */
function orSandboxLog(cli: Cli, client: Skerry) {
  const ofSandbox = (text: string) =>
    onTarget(sandboxNoun.target(client, cli.signal), text, (id) => showSandboxLog(cli, client, id));
  return async (text: string, work: (id: string) => Promise<void>): Promise<void> => {
    if (kindOf(text) === "sandbox") return ofSandbox(text);
    try {
      await onTarget(machineNoun.target(client, cli.signal), text, work);
    } catch (error) {
      const isMissing = error instanceof CliError && error.code === "machine_not_found";
      if (!isMissing || isId("machine", text)) throw error;
      // `findVm` throws an error that names both kinds where it is neither. What the API refuses, for
      // example to a token for machines alone, says less than the first error.
      const { noun } = await findVm(client, text, cli.signal).catch((other: unknown) => {
        throw other instanceof CliError ? other : error;
      });
      if (noun !== sandboxNoun) throw error;
      await ofSandbox(text);
    }
  };
}
