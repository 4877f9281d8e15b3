// A wait, a pause or an age within one process is measured by `performance.now()`: a clock that is set meanwhile would end it at once, or have it
// last for as long as the clock was set back.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { filesOf } from "./import-floors.ts";

const packages = join(import.meta.dirname, "../packages");
/** Times of day that are compared: with those of another process, of a file or of a certificate, or that leave the process. */
const MAY = new Set([
  "cli/src/commands/organizations/tokens.ts",
  "cli/src/local/doctor/examine-host.ts",
  "control/src/e2b/upload-right.ts",
  "control/src/joining/certificate-authority.ts",
  "control/src/joining/x509.ts",
  "control/src/machines/machine-creation.ts",
  "control/src/metrics/metrics.ts",
  "control/src/sandboxes/sandbox-creation.ts",
  "control/src/sandboxes/settled-sandbox.ts",
  "control/src/usage/usage-store.ts",
  "control/src/vms/signed-urls/url-routes.ts",
  "host/src/examine/restore-checks.ts",
  "host/src/edge/failures.ts",
  "host/src/http/cache.ts",
  "host/src/app/unused-files.ts",
  "host/src/templates/image-cache.ts",
  "host/src/vm/qemu/kept-logs.ts",
  // Until the next full minute.
  "host/src/vm/metrics/sampler.ts",
]);
/** Adds to the time of day, takes from it, or compares it. */
const MEASURES = /\bDate\.now\(\) *(?:[-+<>]|\/ 1_000 *-)|(?<!=)[-<>]=? *\(?Date\.now\(\)/;

test("waits and ages within a process do not hang on the time of day", () => {
  const found = ["build-plan", "cli", "contract", "control", "host", "sdk"].flatMap((name) => {
    const src = join(packages, name, "src");
    return filesOf(src)
      .filter((file) => MEASURES.test(readFileSync(join(src, file), "utf8")))
      .map((file) => `${name}/src/${file}`);
  });
  expect(found.filter((file) => !MAY.has(file))).toEqual([]);
  expect([...MAY].filter((file) => !found.includes(file))).toEqual([]);
});
