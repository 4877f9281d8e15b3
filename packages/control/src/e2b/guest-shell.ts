// Commands of ours in a sandbox, for what has no call of its own there: to give a user what was made for it.

import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import { execute } from "../vms/execute/execute.ts";
import { quoted } from "./command-line.ts";
import type { SandboxCall } from "./sandbox-call.ts";
import type { GuestUser } from "./known-users.ts";

/** Makes a directory, and those above it, which belong to the user then. What is there stays as it is. */
export async function makeDirectoryFor(
  context: Context,
  call: SandboxCall,
  { path, user }: { readonly path: string; readonly user: GuestUser },
): Promise<void> {
  const script =
    `p=${quoted(path)}; d=$p; first=; while [ ! -e "$d" ]; do first=$d; d=$(dirname -- "$d"); done; ` +
    `mkdir -p -- "$p" && { [ -z "$first" ] || chown -R -- ${user.uid}:${user.gid} "$first"; }`;
  await run(context, call, script);
}

export async function giveTo(
  context: Context,
  call: SandboxCall,
  { path, user }: { readonly path: string; readonly user: GuestUser },
): Promise<void> {
  await run(context, call, `chown -- ${user.uid}:${user.gid} ${quoted(path)}`);
}

/** The file is there whole or not at all, and the sources are gone when it is. As of an upload, a link is
 *  followed, a file that is there keeps its permissions, and one with other names is written in place. */
export async function composeFor(
  context: Context,
  call: SandboxCall,
  {
    sources,
    path,
    user,
  }: { readonly sources: readonly string[]; readonly path: string; readonly user: GuestUser },
): Promise<void> {
  const parts = sources.map(quoted).join(" ");
  await run(context, call, composeScript(parts, path, `${user.uid}:${user.gid}`));
}

export function composeScript(parts: string, path: string, owner: string): string {
  return (
    `set -e; p=${quoted(path)}; [ ! -L "$p" ] || p=$(readlink -f -- "$p"); m=644 n=1; ` +
    `[ ! -f "$p" ] || { m=$(stat -c %a -- "$p"); n=$(stat -c %h -- "$p"); }; ` +
    `t=$(mktemp -- "$p.XXXXXX"); trap 'rm -f -- "$t"' EXIT; cat -- ${parts} > "$t"; ` +
    `if [ "$n" -gt 1 ]; then cat -- "$t" > "$p"; chown -- ${owner} "$p"; ` +
    `else chown -- ${owner} "$t"; chmod "$m" -- "$t"; mv -fT -- "$t" "$p"; fi; rm -f -- ${parts}`
  );
}

/** The client that has asked is told of its own call alone. */
const untold = {
  add: () => undefined,
  measure: <Result>(_phase: string, work: () => Promise<Result>) => work(),
};

const SHOWN_MAX_CHARS = 200;

/** What it writes. */
export async function run(context: Context, call: SandboxCall, command: string): Promise<string> {
  using ran = await execute(context, call.caller, {
    ...call,
    request: { command },
    input: { bytes: undefined, release: () => undefined },
    timing: untold,
    begun: async () => undefined,
  });
  if (ran.exit.exit_code === 0) return ran.stdout.toString("utf8");
  const why = ran.stderr.toString("utf8").slice(0, SHOWN_MAX_CHARS).toWellFormed();
  throw new SkerryError("permission_denied", `The sandbox's file system does not permit this: ${why.trim()}`);
}
