// `skerry app env`: variables of an app's environment. A change is a deploy.

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
}

export function registerEnv(app: Command, cli: Cli): void {
  const command = app
    .command("env")
    .description("List the variables of an app, or set some, which deploys the live release with them.")
    .argument("[name=value...]", "variables to set")
    .option("--app <name>", "name or id of the app (default: that of skerry.toml)")
    .option("--unset <name>", "take a variable away; repeatable", collectText);
  addFollowFlags(command).action(async (words: readonly string[], flags: EnvFlags, self: Command) => {
    const name = await appMeant(flags);
    const changes = [...words.map(assignment), ...(flags.unset ?? []).map((one) => [one, null] as const)];
    const client = await cli.client(self);
    if (changes.length > 0)
      return deployAgain(cli, client, {
        ...{ app: name, flags },
        changes: { env_changes: Object.fromEntries(changes) },
      });
    const { release } = await client.apps.get(name, { signal: cli.signal });
    for await (const one of client.apps.releases(name, { signal: cli.signal }))
      if (one.number === release) return printNames(cli, one, flags.json === true);
  });
  addExamples(command, "skerry app env --app shop", "skerry app env --app shop LEVEL=debug --unset OLD_FLAG");
}

interface Names {
  readonly variables: readonly string[];
  readonly secrets: readonly string[];
}

async function printNames(cli: Cli, { variables, secrets }: Names, isJson: boolean): Promise<void> {
  if (isJson) return cli.output.json({ variables, secrets });
  const rows = [...variables.map((one) => [one, "variable"]), ...secrets.map((one) => [one, "secret"])];
  await cli.output.table(["NAME", "KIND"], rows);
}

function assignment(word: string): readonly [string, string] {
  const equals = word.indexOf("=");
  if (equals > 0) return [word.slice(0, equals), word.slice(equals + 1)];
  throw new CliError("bad_request", `"${word}" sets no variable.`, {
    remediation: "Write it as NAME=VALUE.",
    exitCode: exitCodes.usage,
  });
}
