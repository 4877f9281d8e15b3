// `npm test`: the checks, then every test, and of the large matrices a sample. `npm run test:full`: the whole matrices. Ends with the line
// `N passed, N failed`.
//
// With SKERRY_TEST_SECOND_TRY=1 a file that failed runs once more, alone. A test that passes then is printed as `flaky: FILE › TEST` and does
// not fail the run: on a busy machine one of two thousand may. Each such line is a defect all the same. A full run knows no second try.

import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";

const root = join(import.meta.dirname, "..");

interface TestCase {
  readonly fullName: string;
  readonly status: "passed" | "failed" | "skipped" | "pending" | "todo";
}

interface TestFile {
  /** Its path. */
  readonly name: string;
  readonly status: "passed" | "failed";
  readonly assertionResults: readonly TestCase[];
}

interface Report {
  readonly numPassedTests: number;
  readonly numPendingTests: number;
  readonly success: boolean;
  readonly testResults: readonly TestFile[];
}

interface Outcome {
  readonly report: Report;
  readonly exitCode: number;
}

const [first, ...rest] = process.argv.slice(2);
const isFull = first === "--full";
const filters = isFull ? rest : process.argv.slice(2);
const seed = process.env["SKERRY_TEST_SEED"] ?? String(randomInt(1_000_000_000));
const triesTwice = process.env["SKERRY_TEST_SECOND_TRY"] === "1" && !isFull;

const folder = mkdtempSync("/tmp/skerry-report-");
try {
  process.stdout.write(isFull ? "whole matrices\n" : `SKERRY_TEST_SEED=${seed}\n`);
  const check = join(root, "setup/check.ts");
  const checked = spawnSync(process.execPath, [check], { cwd: root, stdio: "inherit" });
  const tested = test(filters);
  const failed = tested.report.testResults.filter(({ status }) => status === "failed");
  const stillFailed = triesTwice ? failed.filter(failsAgain) : failed;
  const recovered = failuresIn(failed) - failuresIn(stillFailed);
  // What a test leaves behind fails the run without a file of its own, and no second try mends it.
  const isLitter = failed.length === 0 && (tested.exitCode !== 0 || !tested.report.success);
  const { numPendingTests, numPassedTests } = tested.report;
  if (numPendingTests > 0) process.stdout.write(`${numPendingTests} tests did not run\n`);
  if (checked.status !== 0) process.stdout.write("the checks failed; see above\n");
  const faults = failuresIn(stillFailed) + Number(isLitter) + Number(checked.status !== 0);
  process.stdout.write(`${numPassedTests + recovered} passed, ${faults} failed\n`);
  process.exitCode = faults === 0 && stillFailed.length === 0 && numPendingTests === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Failed tests, and files that failed before their first one. */
function failuresIn(files: readonly TestFile[]): number {
  const failures = files.map(
    ({ assertionResults }) => assertionResults.filter(({ status }) => status === "failed").length,
  );
  return failures.reduce((sum, count) => sum + Math.max(1, count), 0);
}

function test(only: readonly string[]): Outcome {
  const file = join(folder, "report.json");
  rmSync(file, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const { status } = spawnSync(join(root, "node_modules/.bin/vitest"), ["run", ...reporters, ...only], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, SKERRY_TEST_SEED: seed, SKERRY_TEST_FULL: isFull ? "1" : "0" },
  });
  return { report: JSON.parse(readFileSync(file, "utf8")) as Report, exitCode: status ?? 1 };
}

/** Runs the file alone, and tells what was flaky. */
function failsAgain(file: TestFile): boolean {
  const path = relative(root, file.name);
  process.stdout.write(`once more, alone: ${path}\n`);
  const again = test([path]);
  if (again.exitCode !== 0 || !again.report.success) return true;
  const flaky = file.assertionResults.filter(({ status }) => status === "failed");
  for (const { fullName } of flaky) process.stdout.write(`flaky: ${path} › ${fullName}\n`);
  if (flaky.length === 0) process.stdout.write(`flaky: ${path} › (the file itself)\n`);
  return false;
}
