// The deadlines of mmdebstrap, which fetches and unpacks some hundred packages: on a slow line or a busy machine it takes long, and goes on all
// the same.

import { readdir, readFile, utimes } from "node:fs/promises";
import { join } from "node:path";
import { runProgram, type RunOptions } from "../system/run.ts";

const TOTAL_MS = 7_200_000;
const WITHOUT_PROGRESS_MS = 900_000;
const MEASURE_DEADLINE_MS = 60_000;

/** Progress is what it prints, and the growth of the folder that it works in. That folder is touched each time, so that no sweep takes it for one
 *  that was left. `tell` hears how many packages there are in its `root`. */
export function debootstrapDeadlines(
  work: string,
  tell: (progress: string) => void = () => undefined,
): Pick<RunOptions, "deadlineMs" | "progress"> {
  let lastBytes = "";
  const measure = async (): Promise<string> => {
    // Files vanish while it looks, which it complains about.
    const looking = ["-c", 'du --summarize --bytes --one-file-system "$0" 2>/dev/null || :', work];
    const bytes = await runProgram("sh", looking, { deadlineMs: MEASURE_DEADLINE_MS });
    const now = new Date();
    if (bytes !== lastBytes) await utimes(work, now, now);
    lastBytes = bytes;
    const progress = await unpackedOf(join(work, "root"));
    if (progress !== undefined) tell(progress);
    return bytes;
  };
  return { deadlineMs: TOTAL_MS, progress: { withinMs: WITHOUT_PROGRESS_MS, measure } };
}

/** Counts the fetched packages that dpkg has unpacked; undefined where apt has fetched none yet. */
async function unpackedOf(root: string): Promise<string | undefined> {
  const archives = await readdir(join(root, "var/cache/apt/archives")).catch(() => []);
  const fetched = archives.filter((name) => name.endsWith(".deb")).length;
  if (fetched === 0) return undefined;
  const status = await readFile(join(root, "var/lib/dpkg/status"), "utf8").catch(() => "");
  const unpacked = status.match(/^Status: install ok (?:unpacked|half-configured|installed)/gm)?.length ?? 0;
  return `unpacking ${Math.min(unpacked, fetched)} of ${fetched}`;
}
