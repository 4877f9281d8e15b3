// The dump in a backup, read by pg_restore without a connection to any database: it decodes the archive, and what it writes is taken for data.
// It runs as a user who owns nothing, so that not even a fault of its own in a file that was made for it gets far.

import { join } from "node:path";
import { CliError } from "../../errors/errors.ts";
import { choosePostgres, installedMajors, PROGRAMS } from "../servers/choose-postgres.ts";
import { pipeThrough, PipeFailure } from "../system/pipe-through.ts";

const LIST_MAX_BYTES = 4 * 1024 * 1024;

/** `nobody` and `nogroup`, which Debian's systems all have. */
const NOBODY = 65_534;

/** Reads it from the beginning, as often as it is called. */
export type Dump = () => AsyncIterable<Uint8Array>;

/** The script that would put the rows of all tables, or of one, into a database. */
export function rowsOf(dump: Dump, table?: string): AsyncGenerator<Buffer> {
  const only = table === undefined ? [] : [`--table=${table}`];
  return pgRestore(dump, ["--data-only", ...only, "--file=-"]);
}

/** A thing that pg_dump has found in the database, such as `TRIGGER` and `sandboxes_noted`. */
export interface DumpEntry {
  readonly kind: string;
  readonly name: string;
}

export async function entriesOf(dump: Dump): Promise<readonly DumpEntry[]> {
  let text = "";
  for await (const chunk of pgRestore(dump, ["--list"])) {
    text += chunk.toString("utf8");
    if (text.length > LIST_MAX_BYTES) throw unreadable(["Its list of contents is too long."]);
  }
  return readEntries(text);
}

/** A kind has capital letters alone; then come the schema, the table of what belongs to one, the name, and the owner. */
const ENTRY = /^\d+; \d+ \d+ ([A-Z]+(?: [A-Z]+)*) (\S+) (.*) \S*$/;
const BELONG_TO_A_TABLE = new Set([
  "TRIGGER",
  "CONSTRAINT",
  "FK CONSTRAINT",
  "CHECK CONSTRAINT",
  "RULE",
  "POLICY",
]);
const NAME_SHOWN_CHARS = 80;

export function readEntries(list: string): readonly DumpEntry[] {
  return list.split("\n").flatMap((line) => {
    const [, kind = "", , tag = ""] = ENTRY.exec(line) ?? [];
    if (kind === "") return [];
    const words = tag.replace(/\(.*/, "").split(" ");
    const name = (BELONG_TO_A_TABLE.has(kind) ? words.slice(1) : words).join(" ");
    return [{ kind, name: name.replaceAll(/[^\w.* -]/g, "?").slice(0, NAME_SHOWN_CHARS) }];
  });
}

/** What migrations make. Others, such as extensions, event triggers and rules, are never Skerry's. */
const OUR_KINDS = new Set([
  "TYPE",
  "FUNCTION",
  "TABLE",
  "SEQUENCE",
  "VIEW",
  "CONSTRAINT",
  "FK CONSTRAINT",
  "INDEX",
  "TRIGGER",
]);
/** They belong to another entry, or to every database. */
const PARTS = new Set([
  "TABLE DATA",
  "SEQUENCE SET",
  "SEQUENCE OWNED BY",
  "DEFAULT",
  "SCHEMA",
  "COMMENT",
  "ACL",
]);

/** Those that no migration has made: `ours` are the names of those that one has. */
export function strangersOf(entries: readonly DumpEntry[], ours: readonly string[]): readonly string[] {
  const names = new Set(ours);
  return entries
    .filter(({ kind, name }) => !PARTS.has(kind) && !(OUR_KINDS.has(kind) && names.has(name)))
    .map(({ kind, name }) => `${kind.toLowerCase()} ${name}`);
}

async function* pgRestore(read: Dump, args: readonly string[]): AsyncGenerator<Buffer> {
  const major = choosePostgres(await installedMajors(), undefined);
  const program = join(PROGRAMS, String(major), "bin/pg_restore");
  const options = { uid: NOBODY, gid: NOBODY, cwd: "/", env: { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" } };
  try {
    yield* pipeThrough(program, args, options, read());
  } catch (error) {
    throw error instanceof PipeFailure ? unreadable(error.stderr.trim().split("\n")) : error;
  }
}

/** The program repeats names of the dump. */
function unreadable(lines: readonly string[]): CliError {
  return new CliError("backup_damaged", "The backup's database cannot be read. pg_restore says:", {
    lines: lines.map((line) => line.replaceAll(/[^\x20-\x7e]/g, "?")),
  });
}
