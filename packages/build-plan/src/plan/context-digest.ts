// The digest of a path in a context: of names, permissions, links and contents below it, and of neither owners nor times. The builder computes it
// where the bytes are; a client may compute it beforehand, so that a build can begin where it differs from one before.
//
// It is the SHA-256 of records, each ended by NUL, in the order of their bytes:
//
//   TYPE MODE ./PATH            of a file (`f`) or a folder (`d`); permissions in octal digits
//   l LENGTH ./PATH TARGET      of a link; the length is the target's, in bytes
//   SHA256  ./PATH              of a file's content
//   TYPE MODE ./PATH            of a named pipe (`p`) or a device (`c`, `b`), which archives that clients make by themselves can have
//   n MAJOR:MINOR ./PATH        of a device, too: its numbers in hexadecimal digits
//
// A path with a file of several names (hard links) has no digest: what changes one name changes the others, and no record tells which they are.
//
// Extended attributes are in none of them, because a context has none: what unpacks it sets none (`tar` without `--xattrs`).
//
// The context itself (`.`) is all that is in it.

import { createHash } from "node:crypto";
import { CONTEXT_FOLDER } from "../scripts/builder-scripts.ts";
import { quoted } from "@skerry/contract/shell-words";
import type { ContextDigests } from "./step-key.ts";

interface Entry {
  /** Relative to the context. */
  readonly path: string;
}
interface FileEntry extends Entry {
  readonly kind: "file";
  readonly mode: number;
  /** SHA-256 of its content, in hexadecimal digits. */
  readonly sha256: string;
}
interface FolderEntry extends Entry {
  readonly kind: "folder";
  readonly mode: number;
}
interface LinkEntry extends Entry {
  readonly kind: "link";
  readonly target: string;
}
interface PipeEntry extends Entry {
  readonly kind: "pipe";
  readonly mode: number;
}
interface DeviceEntry extends Entry {
  readonly kind: "character device" | "block device";
  readonly mode: number;
  readonly major: number;
  readonly minor: number;
}
export type ContextEntry = FileEntry | FolderEntry | LinkEntry | PipeEntry | DeviceEntry;

/** Of a path that is no link, and has none on its way. Undefined where there is none of these entries. */
export function contextDigest(input: string, entries: readonly ContextEntry[]): string | undefined {
  const found = entries.filter(({ path }) => isBelow(path, input));
  if (input !== "." && !found.some(({ path, kind }) => path === input && kind !== "link")) return undefined;
  const records = found.flatMap(recordsOf).map((record) => Buffer.from(`${record}\0`));
  const hash = createHash("sha256");
  for (const record of records.toSorted((one, other) => Buffer.compare(one, other))) hash.update(record);
  return hash.digest("hex");
}

function recordsOf(entry: ContextEntry): string[] {
  const path = `./${entry.path}`;
  if (entry.kind === "link") return [`l ${Buffer.byteLength(entry.target)} ${path} ${entry.target}`];
  const mode = (entry.mode & 0o7777).toString(8);
  const own = `${types[entry.kind]} ${mode} ${path}`;
  if (entry.kind === "file") return [own, `${entry.sha256}  ${path}`];
  if (!("major" in entry)) return [own];
  return [own, `n ${entry.major.toString(16)}:${entry.minor.toString(16)} ${path}`];
}

const types = { file: "f", folder: "d", pipe: "p", "character device": "c", "block device": "b" } as const;

function isBelow(path: string, input: string): boolean {
  return input === "." || path === input || path.startsWith(`${input}/`);
}

/** Prints a line for each of `DIGEST_PATH_n`: its digest, or `-` where it is a link, leads over one, is not there, or has hard links. */
const SCRIPT = `
cd ${CONTEXT_FOLDER} || exit 1
export LC_ALL=C
set -o pipefail
at=0
while [ "$at" -lt "$DIGEST_PATHS" ]; do
  name=DIGEST_PATH_$at
  at=$((at + 1))
  path=./\${!name} least=0
  [ "\${!name}" != . ] || path=. least=1
  real=$(realpath -e -- "$path" 2>/dev/null)
  if [ -z "$real" ] || [ "$real" != "$(realpath -s -- "$path")" ]; then
    echo -
    continue
  fi
  several=$(find "$path" ! -type d -links +1 -print -quit | wc -c) || exit 1
  if [ "$several" -gt 0 ]; then
    echo -
    continue
  fi
  {
    find "$path" -mindepth "$least" \\( -type l -printf '%y %s %p %l\\0' -o -printf '%y %m %p\\0' \\) &&
      find "$path" -mindepth "$least" -type f -print0 | xargs -0 -r sha256sum -z -- &&
      find "$path" -mindepth "$least" \\( -type b -o -type c \\) -print0 | xargs -0 -r stat --printf 'n %t:%T %n\\0' --
  } | sort -z | sha256sum | cut -d " " -f 1 || exit 1
done
`;

/** A command line for the builder, and its environment. */
export function digestCommand(inputs: readonly string[]): {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
} {
  const env: Record<string, string> = { DIGEST_PATHS: String(inputs.length) };
  for (const [index, input] of inputs.entries()) env[`DIGEST_PATH_${index}`] = input;
  return { command: `exec /bin/bash --norc --noprofile -c ${quoted(SCRIPT)}`, env };
}

/** What it printed. A path that has no digest is left out. */
export function readDigests(inputs: readonly string[], printed: string): ContextDigests {
  const lines = printed.split("\n");
  const found = inputs.map((input, index) => [input, lines[index] ?? ""] as const);
  return Object.fromEntries(found.filter(([, digest]) => /^[0-9a-f]{64}$/.test(digest)));
}
