// Times of the last test run: which file took how long, and at which commit. The next run begins with the longest files, and tries the operations
// that have changed since.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { testCache } from "../tests/support/test-cache.ts";

export interface FileTime {
  /** Its path in the checkout. */
  readonly file: string;
  /** The vitest project. */
  readonly project: string;
  /** When it began and ended, in ms since 1970. */
  readonly startMs: number;
  readonly endMs: number;
}

export interface TestTimes {
  /** The newest commit whose run was green; undefined while there was none. */
  readonly commit?: string | undefined;
  readonly files: readonly FileTime[];
}

const root = join(import.meta.dirname, "..");
/** The checkout's own, and the machine's, from which a fresh clone begins. */
const places = [join(root, ".cache/test-times.json"), join(testCache, "test-times.json")];

/** Undefined where no run has left any. */
export function keptTimes(): TestTimes | undefined {
  for (const place of places) {
    try {
      return JSON.parse(readFileSync(place, "utf8")) as TestTimes;
    } catch {
      // There is none, or another version of the project wrote it: the order of files is then vitest's own.
    }
  }
  return undefined;
}

/** Keeps those of a whole run for the next one. A run that failed leaves the commit of the one before, so
 *  that what changed since is tried again. */
export function keepTimes(files: readonly FileTime[], isGreen: boolean): void {
  const head = () => execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
  const commit = isGreen ? head() : keptTimes()?.commit;
  for (const place of places) {
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(`${place}.new`, JSON.stringify({ commit, files } satisfies TestTimes));
    renameSync(`${place}.new`, place);
  }
}

const LONGEST = 15;

/** For people: wall time of each project, and the longest files. */
export function tableOf(files: readonly FileTime[]): string {
  const projects = [...new Set(files.map(({ project }) => project))];
  const walls = projects.map((project) => {
    const own = files.filter((one) => one.project === project);
    const wallMs =
      Math.max(...own.map(({ endMs }) => endMs)) - Math.min(...own.map(({ startMs }) => startMs));
    return `${seconds(wallMs)}  ${project}, ${own.length} files`;
  });
  const longest = files
    .toSorted((a, b) => lengthOf(b) - lengthOf(a))
    .slice(0, LONGEST)
    .map((one) => `${seconds(lengthOf(one))}  ${one.file}`);
  return ["wall time", ...walls, "longest files", ...longest, ""].join("\n");
}

export function lengthOf({ startMs, endMs }: FileTime): number {
  return endMs - startMs;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`.padStart(10);
}
