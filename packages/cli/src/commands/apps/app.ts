// `skerry app`: apps, their instances, deploys and releases.

import type { App, Deploy, Release, Skerry } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { addExamples } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import {
  addDeedCommand,
  addEachCommand,
  addListCommand,
  wholeList,
  type WholeList,
} from "../resources/resource-commands.ts";
import { registerEnv } from "./app-env.ts";
import { registerFailures } from "./app-failures.ts";
import { forwardText, registerForward } from "./app-forward.ts";
import { registerMetrics } from "./app-metrics.ts";
import { registerDeployCommands } from "./deploy.ts";
import { registerOneOffs } from "./one-off.ts";
import { registerRouteCommands } from "./route.ts";

const named: readonly [string, string] = ["<app>", "name or id of the app"];

export function registerAppCommands(program: Command, cli: Cli): void {
  const app = program.command("app").description("Releases of a program, with instances behind an address.");
  addExamples(
    app,
    "skerry app create shop",
    "skerry deploy --app shop --template shop --port 8080",
    "skerry app show shop",
  );
  addListCommand<App>(app, cli, {
    description: "List the apps of the organization.",
    examples: ["skerry app list", "skerry app list --watch", "skerry app list --json | jq -r '.items[].url'"],
    watched: ["app"],
    read: ({ apps }, _query, options) => apps.list(options),
    columns: [
      ["NAME", ({ name }) => name],
      ["URL", ({ url }) => url ?? "-"],
      ["RELEASE", ({ release }) => (release === null ? "-" : String(release))],
      ["INSTANCES", ({ instances }) => String(instances.filter(({ state }) => state === "serving").length)],
      ["DEPLOY", ({ deploy }) => deploy?.status ?? "-"],
      ["CREATED", (one) => relativeTime(one.created_at)],
    ],
    layout: { whole: [0, 2, 3, 4, 5], minor: [5] },
  });
  addDeedCommand(app, cli, {
    name: "create",
    description: "Create an app, which runs nothing before its first deploy.",
    examples: ["skerry app create shop"],
    argument: ["<name>", "letters, digits and dashes: it is part of the app's address"],
    act: ({ apps }, name, options) => apps.create({ name }, options),
    print: (one) => cli.output.line(one.id),
  });
  addDeedCommand(app, cli, {
    name: "show",
    description: "Show an app with its instances and its last deploy.",
    examples: ["skerry app show shop"],
    argument: named,
    act: ({ apps }, name, options) => apps.get(name, options),
    print: (one) => printApp(cli, one),
  });
  registerScale(app, cli);
  registerMaintenance(app, cli);
  registerForward(app, cli);
  registerMetrics(app, cli);
  registerFailures(app, cli);
  registerEnv(app, cli);
  registerOneOffs(app, cli);
  registerLists(app, cli);
  addEachCommand(app, cli, {
    name: "destroy",
    description: "Delete apps: their instances finish the requests that they have, and end.",
    examples: ["skerry app destroy shop"],
    argument: ["<app...>", "names or ids of apps"],
    act: async ({ apps }, name, options) => {
      await apps.delete(name, options);
      return `${name} is being deleted`;
    },
  });
  registerDeployCommands(program, cli);
  registerRouteCommands(program, cli);
}

function registerLists(app: Command, cli: Cli): void {
  addListOf<Deploy>(app, cli, {
    name: "deploys",
    description: "List the deploys of an app, newest first.",
    list: ({ apps }, name) => apps.deploys(name, { signal: cli.signal }),
    columns: [
      ["ID", ({ id }) => id],
      ["RELEASE", ({ release }) => String(release)],
      ["STATUS", ({ status }) => status],
      ["CREATED", (one) => relativeTime(one.created_at)],
      ["REASON", ({ reason }) => reason?.message ?? "-"],
    ],
  });
  addListOf<Release>(app, cli, {
    name: "releases",
    description: "List the releases of an app, newest first.",
    list: ({ apps }, name) => apps.releases(name, { signal: cli.signal }),
    columns: [
      ["RELEASE", ({ number }) => String(number)],
      ["TEMPLATE", ({ template }) => template ?? "-"],
      ["VARIABLES", ({ variables }) => variables.join(", ") || "-"],
      ["CREATED", (one) => relativeTime(one.created_at)],
    ],
  });
}

async function printApp(cli: Cli, app: App): Promise<void> {
  const { name, url, ports, release, deploy, instances, maintenance } = app;
  if (maintenance) await cli.output.line("It is in maintenance: its instances get no requests.");
  await cli.output.line(`${name}  ${url ?? "no address"}  release ${release ?? "-"}`);
  for (const { group, port } of ports)
    await cli.output.line(`${group} takes connections on port ${port} of hosts`);
  if (deploy !== null)
    await cli.output.line(
      `deploy ${deploy.id} of release ${deploy.release}: ${deploy.status}${because(deploy)}`,
    );
  if (app.log_forward !== null) await cli.output.line(forwardText(app));
  const rows = instances.map((one) => [
    ...[one.name, String(one.release), one.state, one.machine_id, relativeTime(one.created_at)],
  ]);
  const faults = instances.flatMap(({ name: of, fault }) => (fault === null ? [] : [`${of}: ${fault}`]));
  if (rows.length > 0) await cli.output.table(["INSTANCE", "RELEASE", "STATE", "MACHINE", "CREATED"], rows);
  for (const fault of faults) await cli.output.line(fault);
}

function because({ reason }: Deploy): string {
  return reason === null ? "" : ` (${reason.message})`;
}

interface ListOf<Item> {
  readonly name: string;
  readonly description: string;
  readonly list: (client: Skerry, name: string) => AsyncIterable<Item>;
  readonly columns: readonly (readonly [string, (item: Item) => string])[];
}

function addListOf<Item>(app: Command, cli: Cli, { name, description, list, columns }: ListOf<Item>): void {
  addDeedCommand<WholeList<Item>>(app, cli, {
    ...{ name, description, argument: named, examples: [`skerry app ${name} shop`] },
    act: (client, one) => wholeList(list(client, one)),
    print: ({ items }) =>
      cli.output.table(
        columns.map(([heading]) => heading),
        items.map((item) => columns.map(([, text]) => text(item))),
      ),
  });
}

function registerScale(app: Command, cli: Cli): void {
  const command = app
    .command("scale")
    .description("Set how many instances groups of an app have.")
    .argument(...named)
    .argument("<group=count...>", "such as web=3")
    .action(async (name: string, counts: readonly string[], _flags: object, self: Command) => {
      const client = await cli.client(self);
      const scale = Object.fromEntries(counts.map(countOf));
      await printApp(cli, await client.apps.update(name, { scale }, { signal: cli.signal }));
    });
  addExamples(command, "skerry app scale shop web=3 worker=1");
}

function registerMaintenance(app: Command, cli: Cli): void {
  const command = app
    .command("maintenance")
    .description("Have requests of an app answered with 503 in the place of its instances, or end that.")
    .argument(...named)
    .addArgument(app.createArgument("<state>", "whether it is in maintenance").choices(["on", "off"]))
    .action(async (name: string, state: string, _flags: object, self: Command) => {
      const client = await cli.client(self);
      const change = { maintenance: state === "on" };
      await printApp(cli, await client.apps.update(name, change, { signal: cli.signal }));
    });
  addExamples(command, "skerry app maintenance shop on");
}

function countOf(text: string): [string, number] {
  const [, group, count] = /^([a-z][a-z0-9-]*)=(\d{1,3})$/.exec(text) ?? [];
  if (group !== undefined) return [group, Number(count)];
  throw new CliError("bad_request", `"${text}" is no group with a number.`, {
    remediation: "Write it as web=3.",
    exitCode: exitCodes.usage,
  });
}
