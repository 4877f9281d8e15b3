import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { synchronous } from "./clients/python-sync.ts";
import { linksOf } from "./clients/packed-readme.ts";
import { buildPythonWheel } from "./clients/python-wheel.ts";

const execute = promisify(execFile);
let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "skerry-wheel-"));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

test("the same sources make the same wheel, in every time zone, and nothing is left beside it", async () => {
  const first = buildPythonWheel(join(scratch, "first"));
  const program = `
    const { buildPythonWheel } = await import(${JSON.stringify(join(import.meta.dirname, "clients/python-wheel.ts"))});
    buildPythonWheel(${JSON.stringify(join(scratch, "second"))});`;
  await writeFile(join(scratch, "build.mjs"), program);
  await execute(process.execPath, [join(scratch, "build.mjs")], {
    env: { ...process.env, TZ: "Asia/Tokyo" },
  });
  const [name = ""] = await readdir(join(scratch, "second"));
  expect(name).toMatch(/^skerry-\d+\.\d+\.\d+-py3-none-any\.whl$/);
  expect(await readFile(join(scratch, "second", name))).toEqual(await readFile(first));
  expect(await readdir(join(scratch, "first"))).toEqual([name]);
});

test("the wheel records every file with its digest, and says what it needs", async () => {
  const files = unzipSync(await readFile(buildPythonWheel(scratch)));
  const info =
    Object.keys(files)
      .find((name) => name.endsWith("/RECORD"))
      ?.split("/")[0] ?? "";
  const textOf = (name: string) => Buffer.from(files[name] ?? []).toString();
  const recorded = textOf(`${info}/RECORD`).trimEnd().split("\n");
  expect(new Set(recorded.map((line) => line.split(",")[0]))).toEqual(new Set(Object.keys(files)));
  for (const line of recorded.slice(0, -1)) {
    const [name = "", digest, size] = line.split(",");
    const bytes = files[name] ?? new Uint8Array();
    expect([digest, size], name).toEqual([
      `sha256=${createHash("sha256").update(bytes).digest("base64url")}`,
      String(bytes.length),
    ]);
  }
  expect(textOf(`${info}/METADATA`)).toMatch(/\nRequires-Dist: httpx /);
  expect(linksOf(textOf(`${info}/METADATA`)).filter((link) => !/^https?:/.test(link))).toEqual([]);
  expect(Object.keys(files)).toEqual(
    expect.arrayContaining([
      "skerry/__init__.py",
      "skerry/py.typed",
      "skerry/types.py",
      "skerry/_sync/_client.py",
    ]),
  );
  expect(Object.keys(files).filter((name) => name.includes("__pycache__"))).toEqual([]);
});

test("the system's Python takes the wheel for a package of its version", async () => {
  const wheel = buildPythonWheel(scratch);
  const program =
    "import sys, importlib.metadata as m; sys.path.insert(0, sys.argv[1]); d = m.distribution('skerry'); " +
    "print(d.version, d.metadata['Requires-Python'], all(f.locate() for f in d.files))";
  const { stdout } = await execute("/usr/bin/python3", ["-c", program, wheel]);
  expect(stdout).toBe(`${/\/skerry-([\d.]+)-py3/.exec(wheel)?.[1] ?? ""} >=3.9 True\n`);
});

test("what has no synchronous form is found when the client is written", () => {
  expect(synchronous("a.py", "async with a:\n    await b.aclose()\n")).toContain("with a:\n    b.close()\n");
  expect(() => synchronous("a.py", "asyncio.gather()\n")).toThrow('a.py: "asyncio" has no synchronous form');
});
