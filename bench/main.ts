// `npm run bench`: starts a platform of its own and measures what a user feels. Every figure is printed with n, median and p99.
// Names such as `measureBulk` choose some; `--write` also renews docs/benchmarks.md. Nothing here passes or fails: read it on an
// idle machine.

import { writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startPlatform } from "../tests/support/platform.ts";
import { measureEgress, measureThroughput } from "./egress.ts";
import { measureHttp } from "./http.ts";
import { describeMachine } from "./machine.ts";
import { measureBulk, measureExecute, measureFleet, measureIdleMemory, measureLife } from "./measures.ts";
import { report, type Measure } from "./report.ts";

const root = join(import.meta.dirname, "..");
const assets = join(root, ".cache/assets");
await mkdir(assets, { recursive: true });

// What a limit takes is part of what is measured; that it stops us is not.
const platform = await startPlatform({ assets, env: { SKERRY_RATE_READ_PER_MINUTE: "100000000" } });
const measures: Measure[] = [];
try {
  const wanted = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));
  const all = [
    measureIdleMemory,
    measureLife,
    measureExecute,
    measureBulk,
    measureFleet,
    measureEgress,
    measureThroughput,
    measureHttp,
  ];
  for (const measure of all.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
    process.stderr.write(`${measure.name} …\n`);
    measures.push(...(await measure(platform)));
  }
} finally {
  await platform.stop();
}
const text = report(await describeMachine(assets), measures);
process.stdout.write(text);
if (process.argv.includes("--write")) writeFileSync(join(root, "docs/benchmarks.md"), text);
