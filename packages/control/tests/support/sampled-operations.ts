// Which operations a usual run tries in the matrices over all of them: a third by its seed, each one whose
// declaration differs from the commit that was tested last, and those that the matrix cannot do without. `npm
// run test:full` tries all.

import { execFileSync } from "node:child_process";
import { isDeepStrictEqual } from "node:util";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { keptTimes } from "../../../../setup/test-times.ts";
import { isFullRun, third } from "../../../../tests/support/sampling.ts";
import { operations, type OperationId } from "../../src/app/operations.ts";

type Described = Readonly<Record<string, unknown>>;

const DOCUMENT = "packages/control/openapi.json";
const DOCUMENT_MAX_BYTES = 16 * 1024 * 1024;
const root = join(import.meta.dirname, "../../../..");
/** Without a run that left its commit: a day's work before. */
const LAST_TESTED = "HEAD~50";

/** `title`: the matrix, whose draw is its own. */
export function sampledOperations(
  title: string,
  needed: readonly OperationId[] = [],
): ReadonlySet<OperationId> {
  const all = Object.keys(operations) as OperationId[];
  const isChanged = changes();
  const isNeeded = (id: OperationId) => needed.includes(id) || isChanged(id);
  return new Set(isFullRun ? all : third(`operations of ${title}`, all, isNeeded));
}

/** What was declared otherwise then; everything where that commit is not in this clone. An operation that the document does not have is judged by its third alone. */
function changes(): (id: OperationId) => boolean {
  const now = declarations(readFileSync(join(root, DOCUMENT), "utf8"));
  const then = declarations(documentAt(keptTimes()?.commit ?? LAST_TESTED));
  return (id) => !isDeepStrictEqual(now.get(id), then.get(id));
}

function documentAt(commit: string): string {
  try {
    return execFileSync("git", ["show", `${commit}:${DOCUMENT}`], {
      ...{ cwd: root, encoding: "utf8", maxBuffer: DOCUMENT_MAX_BYTES },
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    return '{"paths":{}}';
  }
}

function declarations(document: string): Map<string, Described> {
  const { paths } = JSON.parse(document) as {
    readonly paths: Readonly<Record<string, Record<string, Described>>>;
  };
  const entries = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, described]) => [String(described["operationId"]), { path, method, ...described }] as const,
    ),
  );
  return new Map(entries);
}
