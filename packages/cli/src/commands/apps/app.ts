// `skerry app`, `skerry deploy` and `skerry rollback`.

import { setTimeout as sleep } from "node:timers/promises";
import { deployStrategies, isDeployOver } from "@skerry/contract/apps/deploy-status";
import {
  SkerryApiError,
  type App,
  type Deploy,
  type DeployCreateRequest,
  type Release,
  type Skerry,
} from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { addExamples, collectPair, collectText, portNumber, wholeNumber } from "../../input/options.ts";
import { relativeTime } from "../../output/relative-times.ts";
import { addDeedCommand, addEachCommand, addListCommand } from "../resources/resource-commands.ts";
import { addEnvFlags, envOf, type EnvFlags } from "../vms/env-flags.ts";

const LOOK_MS = 500;
const RELEASE_MAX = 1_000_000_000;
const named: readonly [string, string] = ["<app>", "name or id of the app"];

export function registerAppCommands(program: Command, cli: Cli): void {
  const app = program.command("app").description("Releases of a program, with instances behind an address.");
  addExamples(
    app,
    "skerry app create shop",
    "skerry deploy shop --template shop --port 8080",
    "skerry app show shop",
  );
  addListCommand<App>(app, cli, {
    description: "List the apps of the organization.",
    examples: ["skerry app list", "skerry app list --json | jq -r '.items[].host'"],
    read: ({ apps }, _query, options) => apps.list(options),
    columns: [
      ["NAME", ({ name }) => name],
      ["HOST", ({ host }) => host ?? "-"],
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
  registerDeploy(program, cli);
  registerRollback(program, cli);
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

async function printApp(cli: Cli, { name, host, release, deploy, instances }: App): Promise<void> {
  await cli.output.line(`${name}  ${host ?? "no address"}  release ${release ?? "-"}`);
  if (deploy !== null)
    await cli.output.line(
      `deploy ${deploy.id} of release ${deploy.release}: ${deploy.status}${because(deploy)}`,
    );
  const rows = instances.map((one) => [
    ...[one.name, String(one.release), one.state, one.machine_id, relativeTime(one.created_at)],
  ]);
  if (rows.length > 0) await cli.output.table(["INSTANCE", "RELEASE", "STATE", "MACHINE", "CREATED"], rows);
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
  addDeedCommand<readonly Item[]>(app, cli, {
    ...{ name, description, argument: named, examples: [`skerry app ${name} shop`], withoutJson: true },
    async act(client, one) {
      const items: Item[] = [];
      for await (const item of list(client, one)) items.push(item);
      return items;
    },
    print: (items) =>
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

function countOf(text: string): [string, number] {
  const [, group, count] = /^([a-z][a-z0-9-]*)=(\d{1,3})$/.exec(text) ?? [];
  if (group !== undefined) return [group, Number(count)];
  throw new CliError("bad_request", `"${text}" is no group with a number.`, {
    remediation: "Write it as web=3.",
    exitCode: exitCodes.usage,
  });
}

interface DeployFlags extends EnvFlags {
  readonly template: string;
  readonly command?: string;
  readonly port?: number;
  readonly checkPath: string;
  readonly process?: Readonly<Record<string, string>>;
  readonly secret?: readonly string[];
  readonly strategy?: (typeof deployStrategies)[number];
  readonly detach?: boolean;
  readonly json?: boolean;
}

function registerDeploy(program: Command, cli: Cli): void {
  const command = program
    .command("deploy")
    .description("Deploy a template to an app, which is created where there is none of the name.")
    .argument("<app>", "name of the app")
    .requiredOption("--template <template>", "what its instances begin with, such as shop:42")
    .option("--command <command>", "main process of the group web; default: what the template has running")
    .addOption(new Option("--port <port>", "port of the group web that takes requests").argParser(portNumber))
    .option("--check-path <path>", "path that a GET of answers when an instance is well", "/")
    .option("--process <group=command>", "further group of processes; repeatable", collectPair)
    .option("--secret <name>", "secret of the organization for all instances; repeatable", collectText)
    .addOption(new Option("--strategy <strategy>", "how instances are replaced").choices(deployStrategies))
    .option("--detach", "do not wait until it is live")
    .option("--json", "print the deploy as JSON, as the API has it");
  addEnvFlags(command).action(async (name: string, flags: DeployFlags, self: Command) => {
    const client = await cli.client(self);
    const request = await requestOf(flags);
    const { apps } = client;
    const options = { signal: cli.signal };
    const begun = await apps.deploy(name, request, options).catch(async (error: unknown) => {
      if (!(error instanceof SkerryApiError) || error.code !== "app_not_found") throw error;
      await apps.create({ name }, options);
      return apps.deploy(name, request, options);
    });
    await finish(cli, client, { name, begun, flags });
  });
  addExamples(
    command,
    "skerry deploy shop --template shop:42 --command 'node server.js' --port 8080 --check-path /health",
    "skerry deploy shop --template shop --process 'worker=node worker.js' --env LEVEL=info",
  );
}

async function requestOf(flags: DeployFlags): Promise<DeployCreateRequest> {
  const { template, command, port, checkPath: path, process: groups = {}, secret, strategy } = flags;
  const env = await envOf(flags);
  const others = Object.entries(groups).map(([group, line]) => [group, { command: line }] as const);
  const isSaid = command !== undefined || others.length > 0;
  return {
    template,
    ...(isSaid && {
      processes: { web: command === undefined ? {} : { command }, ...Object.fromEntries(others) },
    }),
    ...(port !== undefined && { services: [{ group: "web", port, check: { path, port } }] }),
    ...(env !== undefined && { env }),
    ...(secret !== undefined && { secrets: secret.map((one) => ({ name: one })) }),
    ...(strategy !== undefined && { strategy }),
  };
}

function registerRollback(program: Command, cli: Cli): void {
  const command = program
    .command("rollback")
    .description("Deploy an earlier release of an app again.")
    .argument(...named)
    .addArgument(
      program
        .createArgument("[release]", "its number; default: the one before the live one")
        .argParser((text: string) => wholeNumber(text, RELEASE_MAX)),
    )
    .option("--detach", "do not wait until it is live")
    .option("--json", "print the deploy as JSON, as the API has it")
    .action(async (name: string, number: number | undefined, flags: DeployFlags, self: Command) => {
      const client = await cli.client(self);
      const release = number ?? (await releaseBefore(cli, client, name));
      const begun = await client.apps.deploy(name, { release }, { signal: cli.signal });
      await finish(cli, client, { name, begun, flags });
    });
  addExamples(command, "skerry rollback shop", "skerry rollback shop 41");
}

async function releaseBefore(cli: Cli, { apps }: Skerry, name: string): Promise<number> {
  const { release } = await apps.get(name, { signal: cli.signal });
  for await (const { number } of apps.releases(name, { signal: cli.signal }))
    if (release !== null && number < release) return number;
  throw new CliError("release_not_found", `The app ${name} has no release before the live one.`, {
    remediation: `\`skerry app releases ${name}\` lists those that are kept.`,
  });
}

interface Begun {
  readonly name: string;
  readonly begun: Deploy;
  readonly flags: Pick<DeployFlags, "detach" | "json">;
}

/** Prints each status as it comes. Throws where the deploy does not get to be live. */
async function finish(cli: Cli, { apps }: Skerry, { name, begun, flags }: Begun): Promise<void> {
  let deploy = begun;
  await cli.output.note(`${deploy.id} brings release ${deploy.release} of ${name}.`);
  while (flags.detach !== true && !isDeployOver(deploy.status)) {
    await sleep(LOOK_MS, undefined, { signal: cli.signal });
    const now = await apps.getDeploy(name, deploy.id, { signal: cli.signal });
    if (now.status !== deploy.status) await cli.output.note(now.status);
    deploy = now;
  }
  if (flags.json === true) await cli.output.json(deploy);
  if (flags.detach === true || deploy.status === "live") {
    const { host } = await apps.get(name, { signal: cli.signal });
    if (flags.json !== true && host !== null) await cli.output.line(host);
    return;
  }
  throw notLive(name, deploy);
}

function notLive(name: string, deploy: Deploy): CliError {
  const { reason, status } = deploy;
  const code = reason?.code ?? "deploy_over";
  return new CliError(code, `The deploy is ${status}${because(deploy)}.`, {
    remediation:
      reason?.instance == null
        ? `\`skerry app show ${name}\` shows what serves.`
        : `\`skerry machine logs ${reason.instance}\` has what it printed.`,
  });
}
