// The tests of the Python client, with the system's Python and httpx; and its types, by mypy.

import { execFile } from "node:child_process";
import { access, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const execute = promisify(execFile);
const source = join(import.meta.dirname, "../src");
/** The one that sees Debian's packages; another one may come first in PATH. */
const PYTHON = "/usr/bin/python3";
const env = { ...process.env, PYTHONPATH: source, PYTHONDONTWRITEBYTECODE: "1" };
const files = (await readdir(import.meta.dirname)).filter((name) => /^test_.*\.py$/.test(name));
let cache: string;
beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), "skerry-mypy-"));
  await execute(PYTHON, ["-c", "import httpx, mypy"]).catch((cause: unknown) => {
    throw new Error("Install python3-httpx and mypy first; setup/test.sh does.", { cause });
  });
});
afterAll(() => rm(cache, { recursive: true, force: true }));

test.each(files)("%s", async (file) => {
  const { stderr } = await execute(PYTHON, ["-W", "error::ResourceWarning", "-m", "unittest", file], {
    ...{ cwd: import.meta.dirname, env },
    timeout: 110_000,
  });
  expect(stderr).toMatch(/\nRan [1-9]\d* tests? in .*\n\nOK\n$/);
});

test("there are tests of each part", () => {
  expect(files.length).toBeGreaterThanOrEqual(6);
});

test("the types of the client and of its tests are right, down to Python 3.9", async () => {
  const args = ["-m", "mypy", "--strict", "--python-version", "3.9", "--cache-dir", cache];
  await access(join(source, "skerry/py.typed"));
  const { stdout } = await execute(PYTHON, [...args, join(source, "skerry"), import.meta.dirname], {
    env: { ...process.env, MYPYPATH: source },
  }).catch((error: unknown) => error as { stdout: string });
  expect(stdout).not.toContain(": error:");
  expect(stdout).toMatch(/^Success: no issues found in \d+ source files\n$/m);
});
