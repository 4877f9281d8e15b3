// Which files of a folder are left out of a context, by the rules of `.dockerignore`: a pattern a line, from
// the folder's root on; `!` takes back; the last pattern that matches a path, or a folder that it is in,
// decides. A line that cannot be read is an error: what it was to keep out may be a secret.

import { SkerryError } from "@skerry/contract/errors";
import { cleanPattern, matchesOrIsBelow, readIgnorePattern, type IgnoreToken } from "./ignore-pattern.ts";

/** The file that says it. */
export const IGNORE_FILE = ".dockerignore";
/** Those that buildah heeds: the first that there is. */
export const IGNORE_FILES: readonly string[] = [".containerignore", IGNORE_FILE];

/** What is left out where there is no such file: what is made again in the build, or is of no use there. */
export const IGNORED_BY_DEFAULT = "**/.git\n**/node_modules\n**/.venv\n**/__pycache__\n";

const PATTERNS_MAX = 2_000;
const PATTERN_MAX_CHARS = 1_000;

/** Characters that Go's `strings.TrimSpace` takes away. */
const SPACE = String.raw`[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+`;
const SPACE_AROUND = new RegExp(`^${SPACE}|${SPACE}$`, "gu");

interface Pattern {
  readonly tokens: readonly IgnoreToken[];
  readonly isTakenBack: boolean;
}

export interface Ignore {
  /** Whether the file of this path, relative and with `/` between names, is left out. */
  isIgnored(path: string): boolean;
  /** Whether all that is below this folder is, so that it need not be read. */
  isIgnoredWhole(folder: string): boolean;
}

/** Throws `invalid_build` with the line of a pattern that is none. */
export function readIgnore(text: string, file = IGNORE_FILE): Ignore {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const patterns = lines.flatMap((line, index) => readPattern(line, `${file}, line ${index + 1}:`));
  if (patterns.length > PATTERNS_MAX) throw fault(`${file} has more than ${PATTERNS_MAX} patterns`);
  const isIgnored = (path: string): boolean =>
    patterns.findLast(({ tokens }) => matchesOrIsBelow(tokens, path))?.isTakenBack === false;
  const takesBack = patterns.some((pattern) => pattern.isTakenBack);
  return { isIgnored, isIgnoredWhole: (folder) => !takesBack && isIgnored(folder) };
}

function readPattern(line: string, place: string): readonly Pattern[] {
  // A comment begins the line: behind a space a `#` is a part of a name.
  if (line.startsWith("#")) return [];
  const text = trimmed(line);
  if (text === "") return [];
  if (text.length > PATTERN_MAX_CHARS)
    throw fault(`${place} the pattern has more than ${PATTERN_MAX_CHARS} characters`);
  const isTakenBack = text.startsWith("!");
  const pattern = isTakenBack ? trimmed(text.slice(1)) : text;
  const tokens = pattern === "" ? undefined : readIgnorePattern(cleanPattern(pattern));
  if (tokens === undefined)
    throw fault(`${place} ${JSON.stringify(text.slice(0, 200))} is no pattern`, REMEDY);
  return tokens.length === 0 ? [] : [{ tokens, isTakenBack }];
}

function trimmed(text: string): string {
  return text.replaceAll(SPACE_AROUND, "");
}

const REMEDY = "A `[` has its `]`, with something in between, and a `\\` a character behind it.";

function fault(text: string, remediation?: string): SkerryError {
  return new SkerryError("invalid_build", `${text}.`, remediation === undefined ? {} : { remediation });
}
