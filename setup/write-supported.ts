// Writes docs/supported.md, which is committed, from the recorded trials. `--check` only says whether it is current.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { supportedPage } from "./supported-page.ts";
import { recordedTrials } from "../packages/contract/src/platform/supported-systems.ts";

const target = join(import.meta.dirname, "../docs/supported.md");
const text = supportedPage(recordedTrials);
if (!process.argv.includes("--check")) {
  await writeFile(target, text);
} else if ((await readFile(target, "utf8").catch(() => "")) !== text) {
  process.stderr.write("docs/supported.md is not current: run node setup/write-supported.ts\n");
  process.exitCode = 1;
}
