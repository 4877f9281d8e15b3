// `npm run test:changed [REV]`: the tests of what has changed since then, in the working tree too, the nearest first. Without a revision: since
// the run that left its times. Where the nearest fail, the others are not begun.

import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { nearestTests, testsOf } from "./test-areas.ts";
import { TestRuns, type Outcome } from "./test-run.ts";
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
const tests = globSync(["packages/*/tests/*.test.ts", "setup/*.test.ts"], { cwd: root });
const nearest = nearestTests(
  changed,
  new Map(tests.map((file) => [file, readFileSync(join(root, file), "utf8")])),
);
process.stdout.write(`${changed.length} files have changed since ${revision}\n`);

const folder = mkdtempSync("/tmp/skerry-report-");
try {
  const runs = new TestRuns(folder, { SKERRY_TEST_FULL: "0" });
  const outcomes: Outcome[] = [];
  /** Resolves with whether all of these tests pass. */
  const run = async (name: string, args: readonly string[]) => {
    const outcome = await runs.run({ name, args });
    outcomes.push(outcome);
    return outcome.exitCode === 0 && outcome.report.success;
  };
  const withoutVms = ["--project=unit", "--project=control"];
  const isGreen =
    (nearest.length === 0 || (await run("nearest", [...withoutVms, "--project=dashboard", ...nearest]))) &&
    (await run("imported", [
      ...withoutVms,
      `--changed=${revision}`,
      ...nearest.map((file) => `--exclude=${file}`),
    ])) &&
    (await runOthers());

  async function runOthers(): Promise<boolean> {
    const ran = new Set(outcomes.flatMap(({ times }) => times.map(({ file }) => file)));
    const others = named.filter((name) => !ran.has(name));
    const again = [...ran].map((file) => `--exclude=${file}`);
    return others.length === 0 || run("named", [...others, ...again]);
  }

  process.stdout.write(tableOf(outcomes.flatMap(({ times }) => times)) + runs.sampled());
  const count = (status: string) => outcomes.reduce((sum, { report }) => sum + countOf(report, [status]), 0);
  process.stdout.write(`${count("passed")} passed, ${Math.max(count("failed"), Number(!isGreen))} failed\n`);
  process.exitCode = isGreen ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
