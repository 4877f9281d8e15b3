// Everything that can be checked without running the product: format, types, lint, dead code, and whether the committed
// documents of API and metrics, and the list of audit actions, are what the code says. Runs all of it, then fails if any part did.

import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

const checks: readonly (readonly [title: string, program: string, ...args: string[]])[] = [
  ["format", "oxfmt", "--check", "."],
  ["types", "tsc", "-p", "."],
  ["types of the dashboard", "tsc", "-p", "packages/dashboard"],
  ["lint", "oxlint", "--type-aware", "--deny-warnings", "."],
  ["dead code", "knip"],
  ["API document, actions", "node", "packages/control/src/app/write-openapi.ts", "--check"],
  ["clients", "node", "setup/write-clients.ts", "--check"],
  ["metrics document", "node", "packages/control/src/app/write-metrics.ts", "--check"],
  ["supported systems", "node", "setup/write-supported.ts", "--check"],
];

const failed = checks.filter(([title, program, ...args]) => {
  const startedMs = performance.now();
  const bin = program === "node" ? process.execPath : join(root, "node_modules/.bin", program);
  const { status, stdout, stderr } = spawnSync(bin, args, { cwd: root, encoding: "utf8" });
  const took = `${((performance.now() - startedMs) / 1_000).toFixed(1)} s`;
  process.stdout.write(`${title.padEnd(20)} ${status === 0 ? "ok" : "FAILED"} ${took}\n`);
  if (status !== 0) process.stdout.write(`${stdout}${stderr}\n`);
  return status !== 0;
});
process.exitCode = failed.length === 0 ? 0 : 1;
