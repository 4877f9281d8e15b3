// Ways by which an app of one's own reads what others have.

import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Holder, Way } from "./holder.ts";

/** A deploy of an app that is gone afterwards. */
async function ownDeploy(by: Holder, body: object): Promise<void> {
  const { id } = await by.post("/v1/apps", { name: `a-${randomUUID().slice(0, 18)}` });
  try {
    await by.post(`/v1/apps/${id}/deploys`, body);
  } finally {
    await sql`delete from apps where id = ${id}`.execute(by.world.db);
  }
}

export const appWays: readonly Way[] = [
  [
    "templates",
    "runs a command in an app of it",
    (by) => ownDeploy(by, { template: "theirs", processes: { web: { command: "cat" } } }),
  ],
  [
    "secrets",
    "gives it to an app",
    (by) => ownDeploy(by, { template: "base", secrets: [{ name: "UNUSED" }] }),
  ],
  [
    "appEnv",
    "deploys a release of theirs with another command",
    (by) => by.post("/v1/apps/theirs/deploys", { release: 1, processes: { web: { command: "env" } } }),
  ],
];
