// What a guest that lies can do with an archive: nothing.

import { execFile } from "node:child_process";
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ExtractOptions } from "../src/commands/copy/extract-tree.ts";
import { TarFormatError } from "../../sdk/src/folder/tar-header.ts";
import { archive, extract as extractInto, type Planted } from "./support/archives.ts";

const run = promisify(execFile);
let folder: string;
let here: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-cp-"));
  here = join(folder, "here");
  await mkdir(here);
  await writeFile(join(folder, "outside"), "old");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function extract(data: Uint8Array, options: Partial<ExtractOptions> = {}) {
  return extractInto(data, { folder: here, ...options });
}

async function outside(): Promise<unknown> {
  return [await readFile(join(folder, "outside"), "utf8"), (await readdir(folder)).toSorted()];
}
const UNTOUCHED = ["old", ["here", "outside"]];

test.each<[string, readonly Planted[]]>([
  ["a name that leads up", [{ name: "../outside", content: "new" }]],
  ["a name that leads up from below", [{ name: "a/../../outside", content: "new" }]],
  ["an absolute name", [{ name: "/etc/skerry-was-here", content: "new" }]],
  [
    "a link, and a file through it",
    [
      { name: "a", type: "2", target: ".." },
      { name: "a/outside", content: "new" },
    ],
  ],
  [
    "an absolute link, and a directory through it",
    [
      { name: "a", type: "2", target: "/tmp" },
      { name: "a/skerry-dir", type: "5" },
    ],
  ],
  [
    "a link through a link",
    [
      { name: "a", type: "2", target: ".." },
      { name: "a/b", type: "2", target: "x" },
    ],
  ],
  [
    "a chain of links",
    [
      { name: "d", type: "5" },
      { name: "d/a", type: "2", target: ".." },
      { name: "b", type: "2", target: "d/a/.." },
      { name: "b/outside", content: "new" },
    ],
  ],
  ["a hard link to a file outside", [{ name: "a", type: "1", target: "../outside" }]],
  ["a hard link to an absolute name", [{ name: "a", type: "1", target: "/etc/passwd" }]],
  [
    "a hard link to a link",
    [
      { name: "a", type: "2", target: "../outside" },
      { name: "b", type: "1", target: "a" },
    ],
  ],
  [
    "a hard link to a file that a link has replaced",
    [
      { name: "a", content: "x" },
      { name: "a", type: "2", target: "../outside" },
      { name: "b", type: "1", target: "a" },
    ],
  ],
  [
    "a link with a long name that leads up",
    [
      { name: "././@LongLink", type: "L", content: `${"x/../".repeat(40)}../outside\0` },
      { name: "x", content: "new" },
    ],
  ],
  [
    "a pax name that leads up",
    [
      { name: "x", type: "x", content: "19 path=../outside\n" },
      { name: "x", content: "new" },
    ],
  ],
  ["a link without a target", [{ name: "a", type: "2" }]],
])("%s is refused, and nothing outside is touched", async (_what, entries) => {
  await expect(extract(archive(...entries))).rejects.toThrow(/./);
  expect(await outside()).toEqual(UNTOUCHED);
  await expect(lstat("/etc/skerry-was-here")).rejects.toThrow("ENOENT");
  await expect(lstat("/tmp/skerry-dir")).rejects.toThrow("ENOENT");
});

test("a file replaces a link, and is not written through it", async () => {
  await symlink("../outside", join(here, "planted"));
  await extract(archive({ name: "planted", content: "new" }));
  expect(await readFile(join(here, "planted"), "utf8")).toBe("new");
  expect(await outside()).toEqual(UNTOUCHED);
});

test("a second copy does not step over a link that the first one has left", async () => {
  await extract(archive({ name: "a", type: "2", target: ".." }));
  expect(await readlink(join(here, "a"))).toBe("..");
  await expect(extract(archive({ name: "a/outside", content: "new" }))).rejects.toMatchObject({
    code: "not_directory",
    remediation: expect.stringContaining("link"),
  });
  expect(await outside()).toEqual(UNTOUCHED);
});

test("a file through a hard link of the same copy cannot change what it is linked to before", async () => {
  await writeFile(join(here, "mine"), "mine");
  await expect(extract(archive({ name: "b", type: "1", target: "mine" }))).rejects.toMatchObject({
    code: "archive_refused",
  });
  await extract(
    archive({ name: "a", content: "1" }, { name: "b", type: "1", target: "a" }, { name: "b", content: "2" }),
  );
  expect([await readFile(join(here, "a"), "utf8"), await readFile(join(here, "b"), "utf8")]).toEqual([
    "1",
    "2",
  ]);
});

test("devices and pipes are left out, and said so; setuid, setgid and sticky bits go", async () => {
  const done = await extract(
    archive(
      { name: "null", type: "3" },
      { name: "disk", type: "4" },
      { name: "pipe", type: "6" },
      { name: "su", content: "x", mode: 0o6755 },
      { name: "dir", type: "5", mode: 0o1777 },
    ),
  );
  expect(done.skipped).toEqual(["null (character device)", "disk (block device)", "pipe (pipe)"]);
  expect((await readdir(here)).toSorted()).toEqual(["dir", "su"]);
  expect([
    (await stat(join(here, "su"))).mode & 0o7777,
    (await stat(join(here, "dir"))).mode & 0o7777,
  ]).toEqual([0o755, 0o777]);
});

test("no device and no directory of this machine is replaced by a file", async () => {
  await run("mkfifo", [join(here, "pipe")]);
  await mkdir(join(here, "dir"));
  for (const name of ["pipe", "dir"])
    for (const type of ["0", "2"])
      await expect(extract(archive({ name, type, target: "x" }))).rejects.toMatchObject({
        code: "already_exists",
      });
  expect((await lstat(join(here, "pipe"))).isFIFO()).toBe(true);
  expect((await readdir(here)).toSorted()).toEqual(["dir", "pipe"]);
});

test("where one file was asked for, one file comes", async () => {
  const one = { sourceName: "f", name: "mine", isOneFile: true };
  for (const entries of [
    [{ name: "f", type: "5" }],
    [{ name: "f/x", content: "x" }],
    [{ name: "g", content: "x" }],
    [
      { name: "f", content: "x" },
      { name: "f", content: "y" },
    ],
  ])
    await expect(extract(archive(...entries), one)).rejects.toMatchObject({ code: "archive_refused" });
  await extract(archive({ name: "./f", content: "whole" }), one);
  expect(await readFile(join(here, "mine"), "utf8")).toBe("whole");
});

test("what the disk takes is bounded: one long file, and many empty ones", async () => {
  const file = archive({ name: "a", content: Buffer.alloc(100_000) });
  await expect(extract(file, { maxBytes: 50_000 })).rejects.toMatchObject({ code: "too_large" });
  expect(await readdir(here)).toEqual([]);
  const many = archive(...Array.from({ length: 100 }, (_, index) => ({ name: `f${index}` })));
  await expect(extract(many, { maxBytes: 50_000 })).rejects.toMatchObject({ code: "too_large" });
  expect((await readdir(here)).length).toBeLessThanOrEqual(12);
});

test("a name that is told before an entry is bounded, however long it claims to be", async () => {
  for (const type of ["L", "K", "x", "g"])
    await expect(extract(archive({ name: "x", type, bytes: 8 ** 11 - 1 }))).rejects.toThrow(TarFormatError);
});

test("an archive that ends too early leaves no half file", async () => {
  const data = archive({ name: "a", content: "x".repeat(5_000) });
  await expect(extract(data.subarray(0, 2_000))).rejects.toThrow(TarFormatError);
  expect(await readdir(here)).toEqual([]);
});

test("a name with control characters is a name, and so is one that is not UTF-8", async () => {
  await extract(archive({ name: "a\u001b[2Jb\n", content: "x" }));
  expect(await readdir(here)).toEqual(["a\u001b[2Jb\n"]);
  const latin1 = archive({ name: "x", type: "L", content: Buffer.from([0xe4, 0]) }, { name: "y" });
  await extract(latin1);
  expect(await readdir(here, { encoding: "buffer" })).toContainEqual(Buffer.of(0xe4));
});

test("whatever comes, nothing is written outside", async () => {
  const step = fc.constantFrom("a", "b", "..", ".", "", "c");
  const name = fc.array(step, { minLength: 1, maxLength: 4 }).map((steps) => steps.join("/"));
  const entry = fc.record({
    name,
    type: fc.constantFrom("0", "1", "2", "5", "3"),
    target: name,
    content: fc.constantFrom("", "new"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 8 }), async (entries) => {
      await extract(archive(...entries)).catch(() => undefined);
      expect(await outside()).toEqual(UNTOUCHED);
      await rm(here, { recursive: true, force: true });
      await mkdir(here);
    }),
    { numRuns: 200 },
  );
});

test("bytes that are no archive are refused, whatever they are", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 2_048 }), async (bytes) => {
      if (bytes.every((byte) => byte === 0)) return;
      await expect(extract(bytes)).rejects.toThrow(TarFormatError);
    }),
    { numRuns: 200 },
  );
  expect(await readdir(here)).toEqual([]);
});
