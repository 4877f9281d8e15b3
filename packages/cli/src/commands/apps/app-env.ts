// `skerry app env`: variables of an app's environment. A change is a deploy, or waits for the next one.

import type { App, Release, Skerry } from "@skerry/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { CliError, exitCodes } from "../../errors/errors.ts";
import { addExamples, collectText } from "../../input/options.ts";
import { addFollowFlags, appMeant } from "./deploy.ts";
import { deployAgain } from "./deploy-again.ts";
import type { FollowFlags } from "./deploy-flags.ts";

interface EnvFlags extends FollowFlags {
  readonly app?: string;
  readonly unset?: readonly string[];
  readonly stage?: boolean;
}

export function registerEnv(app: Command, cli: Cli): void {
  const command = app
    .command("env")
    .description("List the variables of an app, or set some, which deploys the live release with them.")
    .argument("[name=value...]", "variables to set")
    .option("--app <name>", "name or id of the app (default: that of skerry.toml)")
    .option("--unset <name>", "take a variable away; repeatable", collectText)
    .option("--stage", "deploy nothing: the next deploy has the change");
  addFollowFlags(command).action(async (words: readonly string[], flags: EnvFlags, self: Command) => {
    const name = await appMeant(flags);
    const changes = [...words.map(assignment), ...(flags.unset ?? []).map((one) => [one, null] as const)];
    const client = await cli.client(self);
    if (changes.length > 0) return change(cli, client, { name, flags, changes: Object.fromEntries(changes) });
    if (flags.stage === true) throw nothingToStage();
    const app = await client.apps.get(name, { signal: cli.signal });
    return printNames(cli, app, { live: await liveRelease(cli, client, app), isJson: flags.json === true });
  });
  addExamples(
    command,
    "skerry app env --app shop",
    "skerry app env --app shop LEVEL=debug --unset OLD_FLAG",
    "skerry app env --app shop LEVEL=debug --stage",
  );
}

interface Change {
  readonly name: string;
  readonly flags: EnvFlags;
  readonly changes: Readonly<Record<string, string | null>>;
}

/** Without a release that could be deployed again, it waits for the first one. */
async function change(cli: Cli, client: Skerry, { name, flags, changes }: Change): Promise<void> {
  const options = { signal: cli.signal };
  const isStaged = flags.stage === true || (await client.apps.get(name, options)).release === null;
  if (!isStaged)
    return deployAgain(cli, client, { ...{ app: name, flags }, changes: { env_changes: changes } });
  const app = await client.apps.update(name, { env_changes: changes }, options);
  if (flags.json === true) return cli.output.json(app);
  await cli.output.note(
    flags.stage === true
      ? `The next deploy of ${app.name} has the change.`
      : `No release of ${app.name} is live yet; its next deploy has the change.`,
  );
}

async function liveRelease(cli: Cli, client: Skerry, { id, release }: App): Promise<Release | undefined> {
  for await (const one of client.apps.releases(id, { signal: cli.signal }))
    if (one.number === release) return one;
  return undefined;
}

interface Shown {
  readonly live: Pick<Release, "variables" | "secrets"> | undefined;
  readonly isJson: boolean;
}

async function printNames(
  cli: Cli,
  { staged_variables: staged }: App,
  { live: { variables, secrets } = { variables: [], secrets: [] }, isJson }: Shown,
): Promise<void> {
  if (isJson) return cli.output.json({ variables, secrets, staged });
  const kinds = { variable: variables, secret: secrets, staged: staged.set, "staged removal": staged.unset };
  const rows = Object.entries(kinds).flatMap(([kind, names]) => names.map((one) => [one, kind]));
  await cli.output.table(["NAME", "KIND"], rows);
}

function nothingToStage(): CliError {
  return new CliError("bad_request", "--stage needs a variable to set or to take away.", {
    remediation: "Write NAME=VALUE or --unset NAME with it.",
    exitCode: exitCodes.usage,
  });
}

function assignment(word: string): readonly [string, string] {
  const equals = word.indexOf("=");
  if (equals > 0) return [word.slice(0, equals), word.slice(equals + 1)];
  throw new CliError("bad_request", `"${word}" sets no variable.`, {
    remediation: "Write it as NAME=VALUE.",
    exitCode: exitCodes.usage,
  });
}
