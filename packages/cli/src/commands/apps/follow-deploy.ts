// A deploy from its beginning to its end, as a command shows it.

import { setTimeout as sleep } from "node:timers/promises";
import { isDeployOver } from "@skerry/contract/apps/deploy-status";
import type { Deploy, Skerry } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";
import { CliError } from "../../errors/errors.ts";
import type { FollowFlags } from "./deploy-flags.ts";

const LOOK_MS = 500;

export interface Begun {
  readonly app: string;
  readonly deploy: Deploy;
  readonly flags: FollowFlags;
}

/** Prints each status as it comes, and the log of the build. Throws where the deploy does not get to be live. */
export async function followDeploy(cli: Cli, client: Skerry, { app, deploy, flags }: Begun): Promise<void> {
  await cli.output.note(`${deploy.id} brings release ${deploy.release} of ${app}.`);
  const last = flags.detach === true ? deploy : await untilOver(cli, client, { app, deploy });
  if (flags.json === true) await cli.output.json(last);
  if (flags.detach !== true && last.status !== "live") throw notLive(app, last);
  const { url } = await client.apps.get(app, { signal: cli.signal });
  if (flags.json !== true && url !== null) await cli.output.line(url);
}

async function untilOver(
  cli: Cli,
  client: Skerry,
  { app, deploy }: Pick<Begun, "app" | "deploy">,
): Promise<Deploy> {
  const { signal } = cli;
  let seen = deploy;
  while (!isDeployOver(seen.status)) {
    const now = await client.apps.getDeploy(app, deploy.id, { signal });
    if (now.status !== seen.status) {
      await cli.output.note(now.status);
      if (now.status === "building" && now.build_id !== null) await printBuild(cli, client, now.build_id);
    } else await sleep(LOOK_MS, undefined, { signal });
    seen = now;
  }
  return seen;
}

/** A log that breaks off is no reason to give up the deploy. */
async function printBuild(cli: Cli, { builds }: Skerry, id: string): Promise<void> {
  try {
    for await (const { step, text } of builds.followLog(id, { signal: cli.signal }))
      await cli.output.note(`${step === null ? "-" : step + 1}  ${text}`);
  } catch (error) {
    cli.signal.throwIfAborted();
    await cli.output.note(`The log of the build broke off: ${String(error)}`);
  }
}

function notLive(app: string, { status, reason }: Deploy): CliError {
  const why = reason === null ? "" : ` (${reason.message})`;
  return new CliError(reason?.code ?? "deploy_over", `The deploy is ${status}${why}.`, {
    ...(reason !== null && reason.last_lines.length > 0 && { lines: reason.last_lines }),
    remediation:
      reason?.instance == null
        ? `\`skerry app show ${app}\` shows what serves.`
        : `\`skerry machine logs ${reason.instance}\` has all that it printed.`,
  });
}
