// The live release once more, with what has changed since in its environment and its secrets.

import type { DeployCreateRequest, Skerry } from "@skerry/sdk";
import type { Cli } from "../../cli.ts";
import type { FollowFlags } from "./deploy-flags.ts";
import { followDeploy } from "./follow-deploy.ts";

interface Again {
  readonly app: string;
  readonly changes?: Pick<DeployCreateRequest, "env_changes">;
  readonly flags: FollowFlags;
}

/** Deploys nothing where no release is live yet. */
export async function deployAgain(
  cli: Cli,
  client: Skerry,
  { app, changes = {}, flags }: Again,
): Promise<void> {
  const { release } = await client.apps.get(app, { signal: cli.signal });
  if (release === null)
    return cli.output.note(`No release of ${app} is live yet; its first deploy has the change.`);
  const deploy = await client.apps.deploy(app, { release, ...changes }, { signal: cli.signal });
  await followDeploy(cli, client, { app, deploy, flags });
}
