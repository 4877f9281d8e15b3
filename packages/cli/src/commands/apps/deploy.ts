// `skerry launch`, `skerry deploy` and `skerry rollback`.

import { deployStrategies } from "@skerry/contract/apps/deploy-status";
import { SkerryApiError, type Deploy, type Skerry } from "@skerry/sdk";
import { Option, type Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { addExamples, collectPair, collectText, portNumber, wholeNumber } from "../../input/options.ts";
import { addEnvFlags } from "../vms/env-flags.ts";
import type { DeployFlags, FollowFlags } from "./deploy-flags.ts";
import type { Wanted } from "./deploy-request.ts";
import { followDeploy } from "./follow-deploy.ts";

const RELEASE_MAX = 1_000_000_000;

export function registerDeployCommands(program: Command, cli: Cli): void {
  registerLaunch(program, cli);
  registerDeploy(program, cli);
  registerRollback(program, cli);
}

interface LaunchFlags extends FollowFlags {
  readonly app?: string;
}

function registerLaunch(program: Command, cli: Cli): void {
  const command = program
    .command("launch")
    .description("Write a skerry.toml for a folder, whose kind is detected, and deploy it.")
    .argument("[dir]", "the folder", ".")
    .option("--app <name>", "of the app (default: that of the folder)");
  addFollowFlags(command).action(async (folder: string, flags: LaunchFlags, self: Command) => {
    const { APP_FILE, readAppFile, writeAppFile } = await import("./app-file.ts");
    const { launchedFile } = await import("./deploy-request.ts");
    if ((await readAppFile(folder)) !== undefined)
      throw new CliError("already_launched", `There is a ${APP_FILE} in ${folder}.`, {
        remediation: "`skerry deploy` deploys the folder as the file says.",
        exitCode: exitCodes.usage,
      });
    await writeAppFile(folder, await launchedFile(folder, flags.app));
    await cli.output.note(`${APP_FILE} says how ${folder} is deployed.`);
    await deployFolder(cli, self, { folder, flags });
  });
  addExamples(command, "skerry launch", "skerry launch shop --app shop-eu");
}

function registerDeploy(program: Command, cli: Cli): void {
  const command = program
    .command("deploy")
    .description("Deploy a folder, an image or a template to an app, which is created where there is none.")
    .argument("[dir]", "the folder, with its skerry.toml where it has one", ".")
    .option("--app <name>", "of the app (default: that of skerry.toml)")
    .option("--template <template>", "begin with this template, such as shop:42, and build nothing")
    .option("--image <reference>", "begin with this image of a registry, and read no folder")
    .option("--dockerfile <path>", "build this Dockerfile of the folder, and detect nothing")
    .option("--no-cache", "carry out every step of the build, also where its result is cached")
    .option("--command <command>", "main process of the group web")
    .addOption(new Option("--port <port>", "port of the group web that takes requests").argParser(portNumber))
    .option("--check-path <path>", "with --port: path that a GET of answers when an instance is well")
    .option("--process <group=command>", "further group of processes; repeatable", collectPair)
    .option("--release-command <command>", "run it once before instances are started, as for migrations")
    .option("--secret <name>", "secret of the organization for all instances; repeatable", collectText)
    .addOption(new Option("--strategy <strategy>", "how instances are replaced").choices(deployStrategies));
  addFollowFlags(addEnvFlags(command)).action((folder: string, flags: DeployFlags, self: Command) =>
    deployFolder(cli, self, { folder, flags }),
  );
  addExamples(
    command,
    "skerry deploy",
    "skerry deploy web --app shop --env LEVEL=info",
    "skerry deploy --app shop --image docker.io/library/nginx:1 --port 80",
    "skerry deploy --app shop --template shop:42 --command 'node server.js' --port 8080 --check-path /health",
  );
}

export function addFollowFlags(command: Command): Command {
  return command
    .option("--detach", "do not wait until it is live")
    .option("--json", "print the deploy as JSON, as the API has it");
}

async function deployFolder(
  cli: Cli,
  self: Command,
  { folder, flags }: { readonly folder: string; readonly flags: DeployFlags },
): Promise<void> {
  const { wantedDeploy } = await import("./deploy-request.ts");
  const wanted = await wantedDeploy(folder, flags);
  const client = await cli.client(self);
  for (const sentence of wanted.why) await cli.output.note(sentence);
  const deploy = await begin(cli, client, wanted);
  await sendContext(cli, client, deploy, wanted);
  await followDeploy(cli, client, { app: wanted.app, deploy, flags });
}

/** The app is created where there is none of the name. */
async function begin(cli: Cli, { apps }: Skerry, { app, request, scale }: Wanted): Promise<Deploy> {
  const options = { signal: cli.signal };
  if (scale !== undefined)
    await apps.update(app, { scale }, options).catch((error: unknown) => unlessNoApp(error));
  return apps.deploy(app, request, options).catch(async (error: unknown) => {
    unlessNoApp(error);
    await apps.create({ name: app, ...(scale !== undefined && { scale }) }, options);
    return apps.deploy(app, request, options);
  });
}

function unlessNoApp(error: unknown): void {
  if (!(error instanceof SkerryApiError) || error.code !== "app_not_found") throw error;
}

/** Nothing is sent where nothing has changed. */
async function sendContext(
  cli: Cli,
  { builds }: Skerry,
  { build_id: id }: Deploy,
  { content }: Wanted,
): Promise<void> {
  const options = { signal: cli.signal };
  if (id === null || content === undefined || !(await builds.get(id, options)).waits_for_context) return;
  await cli.waits
    .during("Sending the folder", () => builds.sendContext(id, content, options))
    .catch((error: unknown) => {
      // How it ended says more than the refusal of what it has no use for.
      if (!(error instanceof SkerryApiError) || error.code !== "build_over") throw error;
    });
}

interface RollbackFlags extends FollowFlags {
  readonly app?: string;
}

function registerRollback(program: Command, cli: Cli): void {
  const command = program
    .command("rollback")
    .description("Deploy an earlier release of an app again.")
    .addArgument(
      program
        .createArgument("[release]", "its number; default: the one before the live one")
        .argParser((text: string) => wholeNumber(text, RELEASE_MAX)),
    )
    .option("--app <name>", "name or id of the app (default: that of skerry.toml)");
  addFollowFlags(command).action(async (number: number | undefined, flags: RollbackFlags, self: Command) => {
    const app = await appMeant(flags);
    const client = await cli.client(self);
    const release = number ?? (await releaseBefore(cli, client, app));
    const deploy = await client.apps.deploy(app, { release }, { signal: cli.signal });
    await followDeploy(cli, client, { app, deploy, flags });
  });
  addExamples(command, "skerry rollback", "skerry rollback 41 --app shop");
}

/** The app of the flag, or of the folder that the command runs in. */
export async function appMeant({ app }: { readonly app?: string }): Promise<string> {
  if (app !== undefined) return app;
  const { readAppFile } = await import("./app-file.ts");
  const file = await readAppFile(".");
  if (file !== undefined) return file.app;
  throw new CliError("no_app", "Nothing says which app is meant.", {
    remediation: "Give --app NAME, or run it in a folder that has a skerry.toml.",
    exitCode: exitCodes.usage,
  });
}

async function releaseBefore(cli: Cli, { apps }: Skerry, app: string): Promise<number> {
  const { release } = await apps.get(app, { signal: cli.signal });
  for await (const { number, template } of apps.releases(app, { signal: cli.signal }))
    if (release !== null && number < release && template !== null) return number;
  throw new CliError("release_not_found", `The app ${app} has no release before the live one.`, {
    remediation: `\`skerry app releases ${app}\` lists those that are kept.`,
  });
}
