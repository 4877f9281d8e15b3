import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { clientTools } from "../tests/support/client-tools.ts";

const execute = promisify(execFile);
const lock = join(import.meta.dirname, "../tests/client-tools");
let scratch: string;
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), "skerry-client-tools-"));
});
afterEach(() => rm(scratch, { recursive: true, force: true }));

test("tests that need the tools at the same time get one whole folder, and leave no other", async () => {
  const [first, second] = await Promise.all([clientTools(scratch), clientTools(scratch)]);
  expect(second.folder).toBe(first.folder);
  expect(await readdir(scratch)).toHaveLength(1);
  const { stdout } = await execute(process.execPath, [first.program("tsc"), "--version"]);
  expect(stdout).toMatch(/^Version 5\.9\./);
  expect((await clientTools(scratch)).folder).toBe(first.folder);
});

test("tools that cannot be installed are an error that says what npm said, and leave nothing", async () => {
  const broken = join(scratch, "lock");
  await cp(lock, broken, { recursive: true });
  // `npm ci` refuses a lock file that does not fit, before it asks a registry.
  await writeFile(join(broken, "package.json"), '{"dependencies":{"typescript":"~5.8.0"}}');
  const cache = join(scratch, "cache");
  await expect(clientTools(cache, broken)).rejects.toThrow(/could not be installed.*in sync/s);
  expect(await readdir(cache)).toEqual([]);
});

test("the tools' lock file names no registry", async () => {
  expect(await readFile(join(lock, "package-lock.json"), "utf8")).not.toContain('"resolved"');
});
