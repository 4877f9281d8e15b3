// `npm run test:changed [REV]`: the tests of what has changed since then, in the working tree too. Without a revision: since the run that left its times.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { testsOf } from "./test-areas.ts";
import { TestRuns } from "./test-run.ts";
import { countOf } from "./test-report.ts";
import { keptTimes, tableOf } from "./test-times.ts";

const root = join(import.meta.dirname, "..");
const revision = process.argv[2] ?? keptTimes()?.commit ?? "HEAD";
const git = (...args: readonly string[]) =>
  execFileSync("git", args, { cwd: root, encoding: "utf8" })
    .split("\n")
    .filter((line) => line !== "");

const changed = [
  ...git("diff", "--name-only", revision),
  ...git("ls-files", "--others", "--exclude-standard"),
];
const named = testsOf(changed);
process.stdout.write(`${changed.length} files have changed since ${revision}\n`);

const folder = mkdtempSync("/tmp/skerry-report-");
try {
  const runs = new TestRuns(folder, { SKERRY_TEST_FULL: "0" });
  const imported = await runs.run({
    name: "imported",
    args: ["--project=unit", "--project=control", `--changed=${revision}`],
  });
  // What imports a changed file has run by now.
  const ran = new Set(imported.times.map(({ file }) => file));
  const others = named.filter((name) => !ran.has(name));
  const outcomes = [imported];
  if (others.length > 0) outcomes.push(await runs.run({ name: "named", args: others }));
  process.stdout.write(tableOf(outcomes.flatMap(({ times }) => times)) + runs.sampled());
  const count = (status: string) => outcomes.reduce((sum, { report }) => sum + countOf(report, [status]), 0);
  const isGreen = outcomes.every(({ exitCode, report }) => exitCode === 0 && report.success);
  process.stdout.write(`${count("passed")} passed, ${Math.max(count("failed"), Number(!isGreen))} failed\n`);
  process.exitCode = isGreen ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
