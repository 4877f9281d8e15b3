// `skerry build`: builds of templates. `skerry template build` begins one.

import { PAGE_MAX } from "@skerry/contract/bounds";
import { buildStatuses, type BuildStatus } from "@skerry/contract/builds/build-status";
import type { Build } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { sizeText } from "../../output/byte-sizes.ts";
import { printBuildLog } from "./build-log.ts";
import { addExamples, given, wholeNumber } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { addWatchFlag, listOrWatch } from "../../watched-list.ts";
import { waitText } from "../../output/wait-text.ts";
import { showDenials, showEgressRules } from "../vms/egress-tables.ts";
import { forEach } from "../vms/vm-list.ts";

const EXAMPLE = "bld_01kb3x5w7y9z1a3c5e7g9j1m3p";

export function registerBuildCommands(program: Command, cli: Cli): void {
  const builds = program
    .command("build")
    .description("Builds of templates, which `skerry template build` begins.");
  registerList(builds, cli);
  registerShow(builds, cli);
  registerLogs(builds, cli);
  registerEgress(builds, cli);
  registerCancel(builds, cli);
  registerRetry(builds, cli);
}

interface ListFlags {
  readonly status?: BuildStatus;
  readonly name?: string;
  readonly limit?: number;
  readonly watch?: boolean;
  readonly json?: boolean;
}

function registerList(builds: Command, cli: Cli): void {
  const list = addWatchFlag(builds.command("list"))
    .description("List the builds, newest first.")
    .addOption(new Option("--status <status>", "only those with it").choices(buildStatuses))
    .option("--name <name>", "only those of this template")
    .addOption(
      new Option("--limit <count>", `how many to list, 1 to ${PAGE_MAX} (default: 50)`).argParser(
        (text: string) => wholeNumber(text, PAGE_MAX),
      ),
    )
    .option("--json", "print JSON, as the API has it")
    .action(async (flags: ListFlags, self: Command) => {
      const client = await cli.client(self);
      const { json: _json, watch: _watch, ...query } = flags;
      const read = async () => {
        const page = await client.builds.page(given(query), { signal: cli.signal });
        return { json: page, show: () => showBuilds(cli, page.items) };
      };
      await listOrWatch(cli, { client, flags, kinds: ["build"], list: read });
    });
  addExamples(list, "skerry build list", "skerry build list --status failed", "skerry build list --watch");
}

function showBuilds(cli: Cli, builds: readonly Build[]): Promise<void> {
  return cli.output.table(
    ["ID", "TEMPLATE", "STATUS", "STEP", "BEGUN", "WHY"],
    builds.map((build) => [
      ...[build.id, `${build.name}:${build.tag}`, build.status, stepOf(build)],
      ...[relativeTime(build.created_at), build.error?.message ?? build.waits_for?.reason ?? "-"],
    ]),
    { whole: [0], prose: [5] },
  );
}

/** How far it is: `3 of 7`. */
function stepOf({ steps }: Build): string {
  const begun = steps.filter(({ status }) => status !== "waiting").length;
  return steps.length === 0 ? "-" : `${begun} of ${steps.length}`;
}

function registerShow(builds: Command, cli: Cli): void {
  const show = builds
    .command("show")
    .description("Show a build and its steps.")
    .argument("<id>", "id of the build")
    .option("--json", "print JSON, as the API has it")
    .action(async (id: string, flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const build = await client.builds.get(id, { signal: cli.signal });
      if (flags.json === true) return cli.output.json(build);
      await cli.output.fields([
        ["id", build.id],
        ["template", `${build.name}:${build.tag}`],
        ["status", build.status],
        ["took", tookOf(build)],
        ...frozenIn(build),
        ...(build.commit === null ? [] : [["commit", build.commit] as const]),
        ...(build.pushed ? [["pushes to", build.pushed.image] as const] : []),
        ...(build.pushed?.digest ? [["digest", build.pushed.digest] as const] : []),
        ...(build.template_id === null ? [] : [["version", build.template_id] as const]),
        ...(build.error === null ? [] : [["why", build.error.message] as const]),
        ...(build.waits_for ? [["why", waitText(build.waits_for)] as const] : []),
      ]);
      await cli.output.line("");
      await cli.output.table(
        ["STEP", "STATUS", "TOOK", "LAYER", "DOES"],
        build.steps.map((step, index) => [
          ...[String(index + 1), step.status, tookOf(step)],
          ...[step.bytes === null ? "-" : sizeText(step.bytes), step.name],
        ]),
        { prose: [4] },
      );
    });
  addExamples(show, `skerry build show ${EXAMPLE}`);
}

interface Lasted {
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly cache_hit?: boolean;
}

/** `12.3 s`, of what has not ended until now; `cached` where nothing was carried out. */
function tookOf({ started_at: from, finished_at: to, cache_hit: isCached }: Lasted): string {
  if (isCached === true) return "cached";
  if (from === null) return "-";
  const tookMs = (to === null ? Date.now() : Date.parse(to)) - Date.parse(from);
  // The server's clock may be ahead of this one.
  return `${(Math.max(0, tookMs) / 1_000).toFixed(1)} s`;
}

/** From the last step's end to the build's, so the sealing of its disk is in it; that takes next to nothing. */
function frozenIn({ status, pushed, steps, finished_at }: Build): [string, string][] {
  const last = steps
    .flatMap((step) => step.finished_at ?? [])
    .toSorted()
    .at(-1);
  if (status !== "ready" || pushed || last === undefined) return [];
  return [["of it to freeze", tookOf({ started_at: last, finished_at })]];
}

function registerLogs(builds: Command, cli: Cli): void {
  const logs = builds
    .command("logs")
    .description("Print what a build has printed, and with --follow what it prints until it has ended.")
    .argument("<id>", "id of the build")
    .option("-f, --follow", "go on until it has ended")
    .action(async (id: string, flags: { readonly follow?: boolean }, self: Command) => {
      await printBuildLog(cli, await cli.client(self), id, flags);
    });
  addExamples(logs, `skerry build logs ${EXAMPLE} --follow`);
}

function registerEgress(builds: Command, cli: Cli): void {
  const egress = builds
    .command("egress")
    .description(
      "Show what a build may reach and the last destinations that it was denied, also after its end.",
    )
    .argument("<id>", "id of the build")
    .option("--json", "print JSON, as the API has it")
    .action(async (id: string, flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const report = await client.builds.egress(id, { signal: cli.signal });
      if (flags.json === true) return cli.output.json(report);
      await showEgressRules(cli.output, report);
      await cli.output.line("");
      await showDenials(cli.output, report.denied);
    });
  addExamples(
    egress,
    `skerry build egress ${EXAMPLE}`,
    `skerry build egress ${EXAMPLE} --json | jq '.denied[] | {domain, address, port, rule}'`,
  );
}

function registerCancel(builds: Command, cli: Cli): void {
  const cancel = builds
    .command("cancel")
    .description("Cancel builds, at once. One that has ended stays as it is.")
    .argument("<id...>", "ids of builds")
    .action(async (ids: readonly string[], _flags: object, self: Command) => {
      const client = await cli.client(self);
      await forEach(cli, ids, async (id) => {
        const { status } = await client.builds.cancel(id, { signal: cli.signal });
        await cli.output.line(`${id} ${status}`);
      });
    });
  addExamples(cancel, `skerry build cancel ${EXAMPLE}`);
}

function registerRetry(builds: Command, cli: Cli): void {
  const retry = builds
    .command("retry")
    .description("Begin a new build of the same request. A context has to be sent again.")
    .argument("<id>", "id of a build that has ended")
    .option("--json", "print the new build as JSON")
    .action(async (id: string, flags: { readonly json?: boolean }, self: Command) => {
      const client = await cli.client(self);
      const build = await client.builds.retry(id, { signal: cli.signal });
      if (flags.json === true) return cli.output.json(build);
      await cli.output.line(build.id);
    });
  addExamples(retry, `skerry build retry ${EXAMPLE}`);
}
