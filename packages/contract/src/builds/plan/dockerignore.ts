// Which files of a folder are left out of a context, by the rules of `.dockerignore`: a pattern a line, from the folder's root on; `*` and `?`
// within a name, `**` across names; `!` takes back; the last pattern that matches a path, or a folder that it is in, decides.

import { SkerryError } from "../../errors.ts";

/** The file that says it. */
export const IGNORE_FILE = ".dockerignore";
/** Those that buildah heeds: the first that there is. */
export const IGNORE_FILES: readonly string[] = [".containerignore", IGNORE_FILE];

/** What is left out where there is no such file: what is made again in the build, or is of no use there. */
export const IGNORED_BY_DEFAULT = "**/.git\n**/node_modules\n**/.venv\n**/__pycache__\n";

const PATTERNS_MAX = 2_000;
const PATTERN_MAX_CHARS = 1_000;

interface Pattern {
  readonly names: readonly string[];
  readonly isTakenBack: boolean;
}

export interface Ignore {
  /** Whether the file of this path, relative and with `/` between names, is left out. */
  isIgnored(path: string): boolean;
  /** Whether all that is below this folder is, so that it need not be read. */
  isIgnoredWhole(folder: string): boolean;
}

export function readIgnore(text: string): Ignore {
  const patterns = text.split(/\r?\n/).flatMap(readPattern);
  if (patterns.length > PATTERNS_MAX) throw fault(`has more than ${PATTERNS_MAX} patterns`);
  const isIgnored = (path: string): boolean => {
    const names = path.split("/");
    return patterns.findLast((pattern) => matchesOrIsBelow(pattern.names, names))?.isTakenBack === false;
  };
  const takesBack = patterns.some((pattern) => pattern.isTakenBack);
  return { isIgnored, isIgnoredWhole: (folder) => !takesBack && isIgnored(folder) };
}

function readPattern(line: string): readonly Pattern[] {
  const text = line.trim();
  if (text === "" || text.startsWith("#")) return [];
  if (text.length > PATTERN_MAX_CHARS)
    throw fault(`has a pattern of more than ${PATTERN_MAX_CHARS} characters`);
  const isTakenBack = text.startsWith("!");
  const names: string[] = [];
  for (const name of (isTakenBack ? text.slice(1) : text).trim().split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== "." && !(name === "**" && names.at(-1) === "**")) names.push(name);
  }
  return names.length === 0 ? [] : [{ names, isTakenBack }];
}

/** Whether the pattern matches the path or a folder above it. Each pair of a name of the one and of the other is looked at once. */
function matchesOrIsBelow(pattern: readonly string[], path: readonly string[]): boolean {
  // How much of the pattern may have matched the names so far.
  let reached = withEmptyStars(pattern, new Set([0]));
  for (const name of path) {
    const next = [...reached].flatMap((index) => {
      const one = pattern[index];
      if (one === "**") return [index];
      return one !== undefined && nameMatches(one, name) ? [index + 1] : [];
    });
    reached = withEmptyStars(pattern, new Set(next));
    if (reached.has(pattern.length)) return true;
  }
  return false;
}

/** A `**` may also stand for no name. No two are next to each other. */
function withEmptyStars(pattern: readonly string[], reached: ReadonlySet<number>): ReadonlySet<number> {
  return new Set([...reached].flatMap((index) => (pattern[index] === "**" ? [index, index + 1] : [index])));
}

/** `*` and `?`: goes back to the last `*` alone, so that no pattern takes longer than its length times the name's. */
function nameMatches(pattern: string, name: string): boolean {
  let [at, index, star, mark] = [0, 0, -1, 0];
  while (at < name.length) {
    const one = pattern[index];
    if (one === "*") {
      star = index;
      mark = at;
      index += 1;
    } else if (one === "?" || one === name[at]) {
      index += 1;
      at += 1;
    } else if (star >= 0) {
      index = star + 1;
      mark += 1;
      at = mark;
    } else return false;
  }
  while (pattern[index] === "*") index += 1;
  return index === pattern.length;
}

function fault(text: string): SkerryError {
  return new SkerryError("invalid_build", `${IGNORE_FILE} ${text}.`);
}
