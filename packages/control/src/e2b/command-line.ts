// A process as E2B's clients ask for it, as the command line that its execution tells of, and back: an execution is all that is kept of a
// process. Agents of earlier versions, which run no program but a shell, are given the line to run.

import { posix } from "node:path";
import type { GuestUser } from "./known-users.ts";

export interface GuestProcess {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly tag: string | undefined;
}

const HEAD = "#e2b ";
const EXEC = "exec ";
/** What is kept of it in front of the command, which has to be kept too: an execution tells 1,024 bytes of its line. */
const KEPT_MAX_CHARS = 400;
/** A little more, so that what was cut off shows. */
const SHOWN_MAX_CHARS = 1_100;
/** More than any head has: one with a tag alone may have each of its characters escaped. */
const HEAD_MAX_CHARS = 2_000;

/** Cut off where an execution tells no more of its line. */
export function shownLineOf(process: GuestProcess): string {
  return lineOf(process, ["--"]).slice(0, SHOWN_MAX_CHARS).toWellFormed();
}

/** `exec` leaves the process with the number that the execution has, and its signals. */
export function commandLineOf(process: GuestProcess, user: GuestUser): string {
  const { cwd } = process;
  return lineOf(process, asUser(user, { isPlaced: cwd !== undefined && cwd !== "" }));
}

function lineOf({ cmd, args, cwd, tag }: GuestProcess, before: readonly string[]): string {
  const kept = JSON.stringify({ cwd, tag });
  const head = HEAD + (kept.length > KEPT_MAX_CHARS ? JSON.stringify({ tag }) : kept);
  const words = [...before, cmd, ...args].map(quoted);
  return `${head}\n${EXEC}${words.join(" ")}`;
}

/** Undefined for an execution that is no process of an E2B client. The last argument may be cut off. */
export function processOf(line: string): GuestProcess | undefined {
  const kept = keptOf(line);
  const command = line.slice(line.indexOf("\n") + 1);
  if (kept === undefined || !command.startsWith(EXEC)) return undefined;
  const words = wordsOf(command.slice(EXEC.length));
  const [cmd = "", ...args] = words.includes("--") ? words.slice(words.indexOf("--") + 1) : words;
  return { cmd, args, ...kept };
}

/** The tag of the process alone, without reading its command. */
export function tagOf(line: string): string | undefined {
  return keptOf(line)?.tag;
}

/** Where a user's relative paths begin, and what `~` is. */
export function resolvePath(path: string, { home }: GuestUser): string {
  const expanded = path === "~" || path.startsWith("~/") ? home + path.slice(1) : path;
  return posix.resolve(home, expanded);
}

export const TAG_MAX_CHARS = 200;

/** The shell has gone to the folder as root. Where the client has named it, the user goes there once more, and must have the right to. */
function asUser({ name, uid, gid }: GuestUser, { isPlaced }: { readonly isPlaced: boolean }): string[] {
  if (name === "root") return ["/usr/bin/env", "--"];
  const become = ["/usr/bin/setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--init-groups"];
  return isPlaced ? [...become, "/usr/bin/env", "--chdir=.", "--"] : [...become, "--"];
}

export function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

const QUOTE_IN_WORD = `'\\''`;

/** What `quoted` has made of them; the last one may lack its end. A guest writes here what it likes, so each character is read once. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (let start = 0; text[start] === "'";) {
    const end = endOfWord(text, start + 1);
    words.push(text.slice(start + 1, end).replaceAll(QUOTE_IN_WORD, "'"));
    if (text[end + 1] !== " ") break;
    start = end + 2;
  }
  return words;
}

/** Where the quote is that ends the word, or the text. */
function endOfWord(text: string, from: number): number {
  for (let at = from; ; at += QUOTE_IN_WORD.length) {
    at = text.indexOf("'", at);
    if (at === -1) return text.length;
    if (!text.startsWith(QUOTE_IN_WORD, at)) return at;
  }
}

interface Kept {
  readonly cwd: string | undefined;
  readonly tag: string | undefined;
}

/** Undefined where the line does not begin like one of ours. */
function keptOf(line: string): Kept | undefined {
  const end = line.indexOf("\n");
  if (end > HEAD_MAX_CHARS || !line.startsWith(HEAD)) return undefined;
  return keptIn(line.slice(HEAD.length, end === -1 ? HEAD_MAX_CHARS : end));
}

function keptIn(json: string): Kept {
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
