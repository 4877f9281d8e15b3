// Users of a sandbox, as its /etc/passwd has them. A user is asked for with each call, so what was found is kept for a while.

import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import { BoundedMap } from "../values/bounded-map.ts";
import { downloadFile } from "../vms/files/files.ts";
import type { SandboxCall } from "./sandbox-call.ts";

export interface GuestUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

const ROOT: GuestUser = { name: "root", uid: 0, gid: 0, home: "/root" };
/** Of who names none. A sandbox without it, whose template is not made for E2B's clients, works as root. */
export const DEFAULT_USER = "user";

const KNOWN_MAX = 10_000;
const KNOWN_MS = 60_000;
const PASSWD_MAX_BYTES = 256 * 1024;

interface Known {
  readonly user: GuestUser;
  readonly untilMs: number;
}

const known = new BoundedMap<string, Known>(KNOWN_MAX);

/** The user of this name; without one the default. Throws `unauthorized` where there is none. */
export async function guestUser(
  context: Context,
  call: SandboxCall,
  name: string | undefined,
): Promise<GuestUser> {
  const wanted = name ?? DEFAULT_USER;
  const key = `${call.caller.orgId} ${call.id} ${wanted}`;
  const found = known.get(key);
  if (found !== undefined && found.untilMs > performance.now()) return found.user;
  const users = parsePasswd(await readPasswd(context, call));
  const user = users.get(wanted) ?? (name === undefined || name === ROOT.name ? ROOT : undefined);
  if (user === undefined) throw noSuchUser(wanted);
  known.set(key, { user, untilMs: performance.now() + KNOWN_MS });
  return user;
}

/** The name in `Authorization: Basic`, which has no password. */
export function userNameOf(authorization: string | null): string | undefined {
  const [, encoded] = /^Basic ([A-Za-z0-9+/=]{1,400})$/.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return undefined;
  const [name = ""] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  return name === "" ? undefined : name;
}

function noSuchUser(name: string): SkerryError {
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

const NUMBER = /^\d{1,9}$/;

/** Lines that are none are left out: a guest writes what it likes there. */
function parsePasswd(text: string): ReadonlyMap<string, GuestUser> {
  const users = text.split("\n").flatMap((line): (readonly [string, GuestUser])[] => {
    const [name = "", , uid = "", gid = "", , home = ""] = line.split(":");
    const isUser =
      /^[^\s/\0]{1,100}$/.test(name) && NUMBER.test(uid) && NUMBER.test(gid) && home.startsWith("/");
    return isUser ? [[name, { name, uid: Number(uid), gid: Number(gid), home }]] : [];
  });
  // The first line of a name counts, as for the C library.
  return new Map(users.toReversed());
}
