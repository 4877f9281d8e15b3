// A process as E2B's clients ask for it, as the shell command line of an execution, and back: an execution is all that is kept of a process.

import { posix } from "node:path";
import type { GuestUser } from "./known-users.ts";

export interface GuestProcess {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly tag: string | undefined;
}

const HEAD = "#e2b ";
/** What is kept of it in front of the command, which has to be kept too: an execution tells 1,024 bytes of its line. */
const KEPT_MAX_CHARS = 400;

/** `exec` leaves the process with the number that the execution has, and its signals. */
export function commandLineOf({ cmd, args, cwd, tag }: GuestProcess, user: GuestUser): string {
  const kept = JSON.stringify({ cwd, tag });
  const head = HEAD + (kept.length > KEPT_MAX_CHARS ? JSON.stringify({ tag }) : kept);
  const words = [...asUser(user), cmd, ...args].map(quoted);
  return `${head}\nexec ${words.join(" ")}`;
}

/** Undefined for an execution that is no process of an E2B client. The last argument may be cut off. */
export function processOf(line: string): GuestProcess | undefined {
  const [head = "", ...rest] = line.split("\n");
  const command = rest.join("\n");
  if (!head.startsWith(HEAD) || !command.startsWith("exec ")) return undefined;
  const words = wordsOf(command.slice("exec ".length));
  const [cmd = "", ...args] = words.includes("--") ? words.slice(words.indexOf("--") + 1) : words;
  const { cwd, tag } = keptIn(head.slice(HEAD.length));
  return { cmd, args, cwd, tag };
}

/** Where a user's relative paths begin, and what `~` is. */
export function resolvePath(path: string, { home }: GuestUser): string {
  const expanded = path === "~" || path.startsWith("~/") ? home + path.slice(1) : path;
  return posix.resolve(home, expanded);
}

export const TAG_MAX_CHARS = 200;

function asUser({ name, uid, gid }: GuestUser): string[] {
  if (name === "root") return ["/usr/bin/env", "--"];
  return ["/usr/bin/setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--init-groups", "--"];
}

export function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** What `quoted` has made of them; the last one may lack its end. */
function wordsOf(text: string): string[] {
  const matches = text.matchAll(/'((?:[^']|'\\'')*)(?:'(?= |$)|$)/g);
  return [...matches].map(([, word = ""]) => word.replaceAll(`'\\''`, "'"));
}

function keptIn(json: string): { readonly cwd: string | undefined; readonly tag: string | undefined } {
  try {
    const { cwd, tag } = JSON.parse(json) as { readonly cwd?: unknown; readonly tag?: unknown };
    return {
      cwd: typeof cwd === "string" ? cwd : undefined,
      tag: typeof tag === "string" ? tag : undefined,
    };
  } catch {
    return { cwd: undefined, tag: undefined };
  }
}
