// The examples of the documentation, run as they stand.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { sharedPlatform } from "./support/shared.ts";

const root = join(import.meta.dirname, "..");
const platform = await sharedPlatform();
// In the checkout, where `@skerry/sdk` is found as in a project that has installed it.
const folder = await mkdtemp(join(root, "packages/sdk/.examples-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function programsOf(file: string): Promise<string[]> {
  const text = await readFile(join(root, file), "utf8");
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, program = ""]) => program);
}

const files = ["README.md", "packages/sdk/README.md", "docs/guides/agent.md", "docs/guides/preview.md"];
const programs = await Promise.all(
  files.map(async (file) =>
    (await programsOf(file)).map((program, index) => [file, index + 1, program] as const),
  ),
).then((found) => found.flat());

test("there are examples", () => {
  expect(programs.length).toBeGreaterThanOrEqual(4);
});

test.each(programs)("%s: program %d runs, and prints what it says", async (...[file, index, program]) => {
  const path = join(folder, `${file.replaceAll("/", "-")}-${index}.ts`);
  await writeFile(path, program);
  const { stdout } = await promisify(execFile)(process.execPath, [path], {
    env: { ...process.env, SKERRY_API_URL: platform.apiUrl, SKERRY_API_TOKEN: platform.token },
    timeout: 240_000,
  });
  const printed = [...program.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text = ""]) => text);
  for (const text of printed) expect(stdout).toContain(asPrinted(text));
});

/** `0 "a\n"` in a comment is `0 a` and a line break on the screen. */
function asPrinted(comment: string): string {
  return comment.replaceAll(/"(?:[^"\\]|\\.)*"/g, (literal) => JSON.parse(literal) as string);
}
