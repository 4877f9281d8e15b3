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
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { extractTree, type ExtractOptions } from "../src/commands/copy/extract-tree.ts";
import { landingOf, type CopySource, type CopyTarget, type Landing } from "../src/commands/copy/landing.ts";
import { TarFormatError } from "../src/commands/copy/tar-header.ts";
import { readTar } from "../src/commands/copy/tar-reader.ts";
import { packTree } from "../src/commands/copy/tar-writer.ts";

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

async function* chunksOf(data: Uint8Array, size = data.length): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size);
}

interface Planted {
  readonly name: string;
  readonly type?: string;
  readonly target?: string;
  readonly content?: string | Buffer;
  readonly mode?: number;
  /** What its header says, where it lies. */
  readonly bytes?: number;
}

/** An archive that no tar would make. */
function archive(...entries: readonly Planted[]): Buffer {
  const blocks = entries.flatMap(({ name, type = "0", target = "", content = "", mode = 0o644, bytes }) => {
    const data = Buffer.from(content);
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write(`${mode.toString(8).padStart(7, "0")}\0`, 100);
    header.write(`${(bytes ?? data.length).toString(8).padStart(11, "0")}\0`, 124);
    header.write("00000000000\0", 136);
    header.write("        ", 148);
    header.write(type, 156);
    header.write(target, 157);
    header.write("ustar  \0", 257);
    header.write(
      `${header
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, "0")}\0 `,
      148,
    );
    return [header, data, Buffer.alloc((512 - (data.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1_024)]);
}

const whole: ExtractOptions = {
  folder: "",
  sourceName: undefined,
  name: undefined,
  isOneFile: false,
  maxBytes: undefined,
  onProgress: () => undefined,
};

function extract(data: Uint8Array, options: Partial<ExtractOptions> = {}, chunkBytes?: number) {
  return extractTree(readTar(chunksOf(data, chunkBytes)), { ...whole, folder: here, ...options });
}

async function outside(): Promise<unknown> {
  return [await readFile(join(folder, "outside"), "utf8"), (await readdir(folder)).toSorted()];
}
const UNTOUCHED = ["old", ["here", "outside"]];

describe("what a hostile guest sends", () => {
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
      archive(
        { name: "a", content: "1" },
        { name: "b", type: "1", target: "a" },
        { name: "b", content: "2" },
      ),
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

  test("a name with control characters is a name, and one that is not UTF-8 is refused", async () => {
    await extract(archive({ name: "a\u001b[2Jb\n", content: "x" }));
    expect(await readdir(here)).toEqual(["a\u001b[2Jb\n"]);
    const latin1 = archive({ name: "x", type: "L", content: Buffer.from([0xe4, 0]) }, { name: "y" });
    await expect(extract(latin1)).rejects.toThrow(/not UTF-8/);
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
});

describe("an honest tree", () => {
  async function plant(): Promise<string> {
    const source = join(folder, "source");
    await mkdir(join(source, "deep", "x".repeat(120)), { recursive: true });
    await writeFile(join(source, "run.sh"), "#!/bin/sh\n", { mode: 0o755 });
    await writeFile(join(source, "deep", "ä ü 日本 👩‍👩‍👧.txt"), "text");
    await writeFile(join(source, "deep", "x".repeat(120), "big"), Buffer.alloc(1_300_000, "b"));
    await writeFile(join(source, "empty"), "", { mode: 0o600 });
    await symlink("deep/nowhere", join(source, "dangling"));
    await symlink("/etc/hostname", join(source, "absolute"));
    await mkdir(join(source, "locked"), { mode: 0o500 });
    return source;
  }

  const listing = async (path: string) =>
    (await run("find", [".", "-printf", "%P %y %m %s %l %T@\\n"], { cwd: path })).stdout
      .split("\n")
      .map((line) => line.replace(/(\.\d{0,3})\d*$/, "$1"))
      .filter((line) => !/ d \d+ \d+ {2}/.test(line))
      .toSorted();

  test("is packed as GNU tar reads it, and links are packed as links", async () => {
    const source = await plant();
    const tree = await packTree(source, "renamed");
    expect([tree.files, tree.bytes, tree.skipped]).toEqual([4, 1_300_014, []]);
    const parts: Uint8Array[] = [];
    for await (const chunk of tree.archive) parts.push(chunk);
    const file = join(folder, "tar");
    await writeFile(file, Buffer.concat(parts));
    await run("tar", ["-x", "-p", "-f", file, "-C", here]);
    expect((await run("diff", ["-r", "--no-dereference", source, join(here, "renamed")])).stdout).toBe("");
    expect((await stat(join(here, "renamed/run.sh"))).mode & 0o777).toBe(0o755);
    expect((await stat(join(here, "renamed/locked"))).mode & 0o777).toBe(0o500);
    expect((await stat(join(here, "renamed/empty"))).mode & 0o777).toBe(0o600);
  });

  test.each(["gnu", "pax", "ustar", "oldgnu"])(
    "that GNU tar has packed as %s comes out as it was, in whatever pieces it comes",
    async (format) => {
      const source = await plant();
      if (format === "ustar") await rm(join(source, "deep", "x".repeat(120)), { recursive: true });
      await run("ln", [join(source, "run.sh"), join(source, "z-linked")]);
      const file = join(folder, "tar");
      await run("tar", ["-c", `--format=${format}`, "-f", file, "-C", folder, "source"]);
      const done = await extract(await readFile(file), { sourceName: "source", name: "copy" }, 1_000);
      expect(done.skipped).toEqual([]);
      expect((await run("diff", ["-r", "--no-dereference", source, join(here, "copy")])).stdout).toBe("");
      expect((await listing(join(here, "copy"))).length).toBe((await listing(source)).length);
      expect((await stat(join(here, "copy/locked"))).mode & 0o777).toBe(0o500);
      const [one, other] = await Promise.all(
        ["run.sh", "z-linked"].map((name) => stat(join(here, "copy", name))),
      );
      expect(one?.ino).toBe(other?.ino);
    },
  );

  test("a socket or a pipe of this machine is left out, and said so", async () => {
    const source = await plant();
    await run("mkfifo", [join(source, "pipe")]);
    expect((await packTree(source, "x")).skipped).toEqual([join(source, "pipe")]);
  });

  test("a file that becomes shorter while it is packed breaks the copy off", async () => {
    const source = await plant();
    const tree = await packTree(source, "x");
    await writeFile(join(source, "run.sh"), "");
    await expect(
      (async () => {
        for await (const _ of tree.archive);
      })(),
    ).rejects.toMatchObject({ code: "file_changed" });
  });
});

describe("where a copy comes to lie, as docker cp has it", () => {
  const file: CopySource = { path: "/src/f", kind: "file", name: "f" };
  const directory: CopySource = { path: "/src/d", kind: "directory", name: "d" };
  const content: CopySource = { path: "/src/d/.", kind: "directory", name: "d" };
  const none: CopyTarget = { path: "/to/new", kind: "none", isParentDirectory: true };
  const noParent: CopyTarget = { path: "/no/new", kind: "none", isParentDirectory: false };
  const aFile: CopyTarget = { path: "/to/old", kind: "file", isParentDirectory: true };
  const aDirectory: CopyTarget = { path: "/to/dir", kind: "directory", isParentDirectory: true };
  const device: CopyTarget = { path: "/dev/null", kind: "other", isParentDirectory: true };

  test.each<[string, CopySource, CopyTarget, Landing | string]>([
    ["a file to a new name", file, none, { folder: "/to", name: "new" }],
    ["a file to a new name with a slash", file, { ...none, path: "/to/new/" }, "no_such_directory"],
    ["a file over a file", file, aFile, { folder: "/to", name: "old" }],
    ["a file over a file with a slash", file, { ...aFile, path: "/to/old/" }, "not_directory"],
    ["a file into a directory", file, aDirectory, { folder: "/to/dir", name: "f" }],
    ["a file below nothing", file, noParent, "no_such_directory"],
    ["a file with a slash", { ...file, path: "/src/f/" }, aDirectory, "not_directory"],
    ["a file over a device", file, device, "path_not_file"],
    ["a directory to a new name", directory, none, { folder: "/to", name: "new" }],
    [
      "a directory to a new name with a slash",
      directory,
      { ...none, path: "/to/new/" },
      { folder: "/to", name: "new" },
    ],
    ["a directory over a file", directory, aFile, "not_directory"],
    ["a directory into a directory", directory, aDirectory, { folder: "/to/dir", name: "d" }],
    ["what is in a directory into a directory", content, aDirectory, { folder: "/to/dir", name: undefined }],
    ["what is in a directory to a new name", content, none, { folder: "/to", name: "new" }],
    ["what is in a directory over a file", content, aFile, "not_directory"],
    [
      "the root into a directory",
      { path: "/", kind: "directory", name: "" },
      aDirectory,
      { folder: "/to/dir", name: undefined },
    ],
    ["nothing", { path: "/x", kind: "none", name: "x" }, aDirectory, "no_such_file"],
    ["a pipe", { path: "/x", kind: "other", name: "x" }, aDirectory, "path_not_file"],
  ])("%s", (_what, source, target, expected) => {
    if (typeof expected !== "string") expect(landingOf(source, target)).toEqual(expected);
    else expect(() => landingOf(source, target)).toThrow(expect.objectContaining({ code: expected }));
  });
});
