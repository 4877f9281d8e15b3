// A second organization. The API has no call for one yet, so it is written where the first one is: into the platform's own database,
// as its own user.

import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "@skerry/contract/ids";
import type { Api } from "./api.ts";
import { skerry, type Platform } from "./platform.ts";

export interface Stranger extends Api {
  readonly orgId: string;
}

/** Somebody with a valid token of an organization of their own. */
export async function newStranger(platform: Pick<Platform, "state" | "apiUrl">): Promise<Stranger> {
  const token = `sk_${randomBytes(32).toString("base64url")}`;
  const [orgId, userId] = [newId("organization"), newId("user")];
  const digest = createHash("sha256").update(token).digest("hex");
  await psql(
    platform,
    `begin;
     insert into users (id, name) values ('${userId}', 'stranger');
     insert into organizations (id, name) values ('${orgId}', 'strangers');
     insert into memberships (org_id, user_id, role) values ('${orgId}', '${userId}', 'owner');
     insert into api_tokens (id, org_id, user_id, name, secret_sha256)
       values ('${newId("token")}', '${orgId}', '${userId}', 'stranger', '\\x${digest}');
     commit;`,
  );
  return { apiUrl: platform.apiUrl, token, orgId };
}

/** What the operator grants the organization of this platform's first token from now on; nothing: `none`. */
export async function grantPrivateCidrs(
  { client, env }: Pick<Platform, "client" | "env">,
  ...cidrs: readonly string[]
): Promise<void> {
  const { organization_id } = await client.me();
  await skerry(env, "set-private-cidrs", organization_id, ...cidrs);
}

const PROGRAMS = "/usr/lib/postgresql";

/** Runs statements in the platform's own database, as its own user. */
export async function psql({ state }: Pick<Platform, "state">, sql: string): Promise<void> {
  const socketFolder = join(state, "run/postgres");
  // Peer authentication: the database takes only the user who owns the folder of its socket.
  const { uid, gid } = await stat(socketFolder);
  const newest = Math.max(...(await readdir(PROGRAMS)).map(Number).filter(Number.isFinite));
  const args = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", socketFolder, "-U", "skerry", "-d", "skerry"];
  const child = spawn(`${PROGRAMS}/${newest}/bin/psql`, [...args, "-c", sql], {
    uid,
    gid,
    cwd: "/",
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`psql: ${stderr}`))));
  });
}
