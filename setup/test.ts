// `npm test`: the checks, then every test. Ends with the line `N passed, N failed`.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly success: boolean;
}

function run(program: string, args: readonly string[]): number {
  return spawnSync(program, args, { cwd: root, stdio: "inherit" }).status ?? 1;
}

const folder = mkdtempSync("/tmp/skerry-report-");
try {
  const checked = run(process.execPath, [join(root, "setup/check.ts")]);
  const file = join(folder, "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const tested = run(join(root, "node_modules/.bin/vitest"), ["run", ...reporters, ...process.argv.slice(2)]);
  const report = JSON.parse(readFileSync(file, "utf8")) as Report;
  if (report.numPendingTests > 0) process.stdout.write(`${report.numPendingTests} tests did not run\n`);
  if (checked !== 0) process.stdout.write("the checks failed; see above\n");
  const good = checked === 0 && tested === 0 && report.success && report.numPendingTests === 0;
  process.stdout.write(
    `${report.numPassedTests} passed, ${report.numFailedTests + (checked === 0 ? 0 : 1)} failed\n`,
  );
  process.exitCode = good ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
