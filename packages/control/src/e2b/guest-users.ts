// Users of a sandbox, as its /etc/passwd has them. A user is asked for with each call, so what was found is kept for a while.

import { SkerryError } from "@skerry/contract/errors";
import { stateOf, type Context } from "../context.ts";
import { downloadFile } from "../vms/files/files.ts";
import { KnownUsers, type GuestUser } from "./known-users.ts";
import { parsePasswd } from "./passwd.ts";
import { startOfSandbox } from "./template-starts.ts";
import type { SandboxCall } from "./sandbox-call.ts";

export const ROOT: GuestUser = { name: "root", uid: 0, gid: 0, home: "/root" };
/** Of who names none, where the template says nothing of it. A sandbox without it, whose template is not made for E2B's clients, works as root. */
export const DEFAULT_USER = "user";

const PASSWD_MAX_BYTES = 256 * 1024;

const knownUsersOf = stateOf(() => new KnownUsers());

/** The user of this name; without one that of the sandbox's template. Throws `unauthorized` where there is none. */
export async function guestUser(
  context: Context,
  call: SandboxCall,
  name: string | undefined,
): Promise<GuestUser> {
  const sandbox = `${call.caller.orgId} ${call.id}`;
  const key = name ?? NAMED_NOT;
  const known = knownUsersOf(context);
  const found = known.get(sandbox, key, performance.now());
  if (found !== undefined) return found;
  const wanted = name ?? (await defaultUserName(context, call));
  const users = parsePasswd(await readPasswd(context, call));
  const user = users.get(wanted) ?? (name === undefined || name === ROOT.name ? ROOT : undefined);
  if (user === undefined) throw noSuchUser(wanted);
  known.set(sandbox, key, { user, nowMs: performance.now() });
  return user;
}

/** No user has it. */
const NAMED_NOT = "";

/** Of who names none. */
export async function defaultUserName(context: Context, call: SandboxCall): Promise<string> {
  const { user = DEFAULT_USER } = (await startOfSandbox(context, call)) ?? {};
  const [name = DEFAULT_USER] = user.split(":");
  return name;
}

/** The name in `Authorization: Basic`, which has no password. */
export function userNameOf(authorization: string | null): string | undefined {
  const [, encoded] = /^Basic ([A-Za-z0-9+/=]{1,400})$/.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return undefined;
  const [name = ""] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  return name === "" ? undefined : name;
}

export function noSuchUser(name: string): SkerryError {
  return new SkerryError("unauthorized", `There is no user "${name.slice(0, 100)}" in the sandbox.`);
}

async function readPasswd(context: Context, call: SandboxCall): Promise<string> {
  const params = { ...call, encodedPath: "etc/passwd" };
  try {
    const { content } = await downloadFile(context, call.caller, params);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of content as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > PASSWD_MAX_BYTES) break;
    }
    return Buffer.concat(chunks).toString("utf8");
  } catch (error) {
    if (error instanceof SkerryError && error.code === "file_not_found") return "";
    throw error;
  }
}
