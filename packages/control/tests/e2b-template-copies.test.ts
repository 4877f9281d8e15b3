// The scripts that put files of E2B's clients in their places, run as a build runs them.

import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { translateTemplate } from "../src/e2b/template-steps.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-copies-"));
});
afterEach(() => rm(folder, { recursive: true }));

test.each([
  ["out/b", "out/b"],
  ["out/more/", "out/more/a"],
])("a file that is copied to %s lies at %s", async (target, place) => {
  const args = ["site/a", join(folder, target) + (target.endsWith("/") ? "/" : ""), userInfo().username];
  const { steps = [] } = translateTemplate({
    ...{ fromImage: "e2bdev/base", steps: [{ type: "COPY", args, filesHash: "12".repeat(32) }] },
  }).request;
  const run = steps.flatMap((step) => ("run" in step ? [step.run] : []))[0] ?? "";
  await mkdir(join(folder, "copy/files/site"), { recursive: true });
  await writeFile(join(folder, "copy/files/site/a"), "text");
  execFileSync("sh", ["-c", run.replaceAll("/var/tmp/.copy-1", join(folder, "copy"))]);
  expect(await readFile(join(folder, place), "utf8")).toBe("text");
});
