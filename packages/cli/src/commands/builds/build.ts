// `skerry build`: builds of templates. `skerry template build` begins one.

import { buildStatuses } from "@skerry/contract/builds/build-status";
import type { Build } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { sizeText } from "../../output/byte-sizes.ts";
import { printBuildLog } from "./build-log.ts";
import { addExamples } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { waitText } from "../../output/wait-text.ts";
import { showDenials, showEgressRules } from "../vms/egress-tables.ts";
import { addDeedCommand, addEachCommand, addListCommand } from "../resources/resource-commands.ts";

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

function registerList(builds: Command, cli: Cli): void {
  addListCommand<Build>(builds, cli, {
    description: "List the builds, newest first.",
    examples: ["skerry build list", "skerry build list --status failed", "skerry build list --watch"],
    operation: "listBuilds",
    read: (client, query, options) => client.builds.page(query, options),
    columns: [
      ["ID", ({ id }) => id],
      ["TEMPLATE", ({ name, tag }) => `${name}:${tag}`],
      ["STATUS", ({ status }) => status],
      ["STEP", stepOf],
      ["BEGUN", (build) => relativeTime(build.created_at)],
      ["WHY", ({ error, waits_for: waits }) => error?.message ?? waits?.reason ?? "-"],
    ],
    layout: { whole: [0], prose: [5] },
    hasLimit: true,
    watched: ["build"],
  });
}

/** How far it is: `3 of 7`. */
function stepOf({ steps }: Build): string {
  const begun = steps.filter(({ status }) => status !== "waiting").length;
  return steps.length === 0 ? "-" : `${begun} of ${steps.length}`;
}

function registerShow(builds: Command, cli: Cli): void {
  addDeedCommand(builds, cli, {
    name: "show",
    description: "Show a build and its steps.",
    examples: [`skerry build show ${EXAMPLE}`],
    argument: ["<id>", "id of the build"],
    act: (client, id, options) => client.builds.get(id, options),
    waits: {
      statuses: buildStatuses,
      wait: ({ builds }, id, until, options) => builds.wait(id, until, options),
    },
    print: (build) => printBuild(cli, build),
  });
}

async function printBuild(cli: Cli, build: Build): Promise<void> {
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
  addDeedCommand(builds, cli, {
    name: "egress",
    description:
      "Show what a build may reach and the last destinations that it was denied, also after its end.",
    examples: [
      `skerry build egress ${EXAMPLE}`,
      `skerry build egress ${EXAMPLE} --json | jq '.denied[] | {domain, address, port, rule}'`,
    ],
    argument: ["<id>", "id of the build"],
    act: (client, id, options) => client.builds.egress(id, options),
    print: async (report) => {
      await showEgressRules(cli.output, report);
      await cli.output.line("");
      await showDenials(cli.output, report.denied);
    },
  });
}

function registerCancel(builds: Command, cli: Cli): void {
  addEachCommand(builds, cli, {
    name: "cancel",
    description: "Cancel builds, at once. One that has ended stays as it is.",
    examples: [`skerry build cancel ${EXAMPLE}`],
    argument: ["<id...>", "ids of builds"],
    act: async (client, id, options) => `${id} ${(await client.builds.cancel(id, options)).status}`,
  });
}

function registerRetry(builds: Command, cli: Cli): void {
  addDeedCommand(builds, cli, {
    name: "retry",
    description: "Begin a new build of the same request. A context has to be sent again.",
    examples: [`skerry build retry ${EXAMPLE}`],
    argument: ["<id>", "id of a build that has ended"],
    act: (client, id, options) => client.builds.retry(id, options),
    print: ({ id }) => cli.output.line(id),
  });
}
