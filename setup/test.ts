// `npm test`: the checks, then every test, and of the large matrices a sample. `npm run test:full`: the whole matrices. Ends with the line
// `N passed, N failed`.
//
// Two lanes run at once, because end-to-end tests mostly wait, and what computes beside them takes what they leave. Tests that need quiet come afterwards.
//
// With SKERRY_TEST_SECOND_TRY=1 a file that failed runs once more, alone. A test that passes then is printed as `flaky: FILE › TEST` and does
// not fail the run: on a busy machine one of two thousand may. Each such line is a defect all the same. A full run knows no second try.

import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { runLines } from "./run-lines.ts";
import { TestRuns, type Outcome, type Run, type TestFile } from "./test-run.ts";
import { countOf, renewed, type TestReport } from "./test-report.ts";
import { keepTimes, tableOf } from "./test-times.ts";

const root = join(import.meta.dirname, "..");

const [first, ...rest] = process.argv.slice(2);
const isFull = first === "--full";
const filters = isFull ? rest : process.argv.slice(2);
const seed = process.env["SKERRY_TEST_SEED"] ?? String(randomInt(1_000_000_000));
const triesTwice = process.env["SKERRY_TEST_SECOND_TRY"] === "1" && !isFull;

const projects = (...names: readonly string[]) => [...names.map((name) => `--project=${name}`), ...filters];
/** Of the lane that computes, and of the one that waits. */
const computing: Run = { name: "computing", args: projects("unit", "control") };
const waiting: Run = { name: "waiting", args: projects("end-to-end"), prefix: "end-to-end | " };
/** Tests of the browser and of KVM, one group after the other. */
const quiet: Run = { name: "quiet", args: projects("!unit", "!control", "!end-to-end") };

const folder = mkdtempSync("/tmp/skerry-report-");
try {
  process.exitCode = await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<number> {
  process.stdout.write(isFull ? "whole matrices\n" : `SKERRY_TEST_SEED=${seed}\n`);
  const runs = new TestRuns(folder, { SKERRY_TEST_SEED: seed, SKERRY_TEST_FULL: isFull ? "1" : "0" });
  const [{ checked, computed }, waited] = await Promise.all([compute(runs), runs.run(waiting)]);
  const outcomes = [computed, waited, await runs.run(quiet)];
  const failed = outcomes.flatMap((one) => failedFiles(one));
  const report: TestReport = { testResults: outcomes.flatMap((one) => one.report.testResults) };
  const again = triesTwice ? await triedAgain(runs, report, failed) : { report, stillFailed: failed };
  const times = outcomes.flatMap((one) => one.times);
  process.stdout.write(tableOf(times) + runs.sampled());
  // What a test leaves behind fails a run without a file of its own, and no second try mends it.
  const littered = outcomes.filter((one) => failedFiles(one).length === 0 && isFailed(one)).length;
  const passed = countOf(again.report, ["passed"]);
  const left = countOf(again.report, ["skipped", "pending", "todo"]);
  if (left > 0) process.stdout.write(`${left} tests did not run\n`);
  if (!checked) process.stdout.write("the checks failed; see above\n");
  if (passed === 0) process.stdout.write("no test ran: no file is named so\n");
  const faults = failuresIn(again.stillFailed) + littered + Number(!checked);
  process.stdout.write(`${passed} passed, ${faults} failed\n`);
  const isGreen = faults === 0 && left === 0 && passed > 0;
  if (filters.length === 0) keepTimes(times, isGreen);
  return isGreen ? 0 : 1;
}

async function compute(runs: TestRuns): Promise<{ readonly checked: boolean; readonly computed: Outcome }> {
  const args = [join(root, "setup/check.ts")];
  const code = await runLines({ command: process.execPath, args, cwd: root, prefix: "" });
  return { checked: code === 0, computed: await runs.run(computing) };
}

function failedFiles({ report }: Outcome): TestFile[] {
  return report.testResults.filter(({ status }) => status === "failed");
}

function isFailed({ exitCode, report }: Outcome): boolean {
  return exitCode !== 0 || !report.success;
}

/** Failed tests, and files that failed before their first one. */
function failuresIn(files: readonly TestFile[]): number {
  const failures = files.map(
    ({ assertionResults }) => assertionResults.filter(({ status }) => status === "failed").length,
  );
  return failures.reduce((sum, count) => sum + Math.max(1, count), 0);
}

/** Runs each file that failed alone, and tells what was flaky. What came of those that pass then takes the place of what came of them before. */
async function triedAgain(
  runs: TestRuns,
  before: TestReport,
  failed: readonly TestFile[],
): Promise<{ report: TestReport; stillFailed: TestFile[] }> {
  let report = before;
  const stillFailed: TestFile[] = [];
  for (const [at, file] of failed.entries()) {
    const path = relative(root, file.name);
    process.stdout.write(`once more, alone: ${path}\n`);
    const again = await runs.run({ name: `again-${at}`, args: [path] });
    if (isFailed(again)) {
      stillFailed.push(file);
      continue;
    }
    report = renewed(report, again.report);
    const flaky = file.assertionResults.filter(({ status }) => status === "failed");
    for (const { fullName } of flaky) process.stdout.write(`flaky: ${path} › ${fullName}\n`);
    if (flaky.length === 0) process.stdout.write(`flaky: ${path} › (the file itself)\n`);
  }
  return { report, stillFailed };
}
