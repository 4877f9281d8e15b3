// `npm test`: the checks, then every test, and of the large matrices a sample. `npm run test:full`: the whole matrices. Ends with the line
// `N passed, N failed`.
//
// With SKERRY_TEST_SECOND_TRY=1 a file that failed runs once more, alone. A test that passes then is printed as `flaky: FILE › TEST` and does
// not fail the run: on a busy machine one of two thousand may. Each such line is a defect all the same. A full run knows no second try.

import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { countOf, renewed, type ReportedFile, type TestReport } from "./test-report.ts";

const root = join(import.meta.dirname, "..");

interface TestFile extends ReportedFile {
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

interface Report extends TestReport {
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
  const { report, stillFailed } = triesTwice
    ? triedAgain(tested.report, failed)
    : { report: tested.report, stillFailed: failed };
  // What a test leaves behind fails the run without a file of its own, and no second try mends it.
  const isLitter = failed.length === 0 && (tested.exitCode !== 0 || !tested.report.success);
  const passed = countOf(report, ["passed"]);
  const left = countOf(report, ["skipped", "pending", "todo"]);
  if (left > 0) process.stdout.write(`${left} tests did not run\n`);
  if (checked.status !== 0) process.stdout.write("the checks failed; see above\n");
  const faults = failuresIn(stillFailed) + Number(isLitter) + Number(checked.status !== 0);
  process.stdout.write(`${passed} passed, ${faults} failed\n`);
  process.exitCode = faults === 0 && stillFailed.length === 0 && left === 0 ? 0 : 1;
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

/** Runs each file that failed alone, and tells what was flaky. What came of those that pass then takes the place of what came of them before. */
function triedAgain(
  first: TestReport,
  failed: readonly TestFile[],
): { report: TestReport; stillFailed: TestFile[] } {
  let report: TestReport = first;
  const stillFailed: TestFile[] = [];
  for (const file of failed) {
    const path = relative(root, file.name);
    process.stdout.write(`once more, alone: ${path}\n`);
    const again = test([path]);
    if (again.exitCode !== 0 || !again.report.success) {
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
