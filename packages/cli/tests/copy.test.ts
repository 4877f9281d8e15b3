import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { vmPlace } from "../src/commands/copy/cp.ts";
import { landingOf, type CopySource, type CopyTarget, type Landing } from "../src/commands/copy/landing.ts";
import { packTree } from "../../sdk/src/folder/tar-writer.ts";
import { extract } from "./support/archives.ts";

const run = promisify(execFile);
let folder: string;
let here: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-cp-"));
  here = join(folder, "here");
  await mkdir(here);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

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
      const done = await extract(
        await readFile(file),
        { folder: here, sourceName: "source", name: "copy" },
        1_000,
      );
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

/** Each as `find` prints it: its kind, its name and where it leads, as bytes. */
async function listed(folder: string): Promise<string> {
  const { stdout } = await run(
    "sh",
    ["-c", "find . -printf '%y %P %l\\n' | LC_ALL=C sort | od -An -tx1 -v"],
    {
      cwd: folder,
    },
  );
  return stdout;
}

test("names that are not UTF-8 come through byte for byte, also of directories and of what links lead to", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skerry-names-"));
  try {
    await mkdir(join(folder, "there"));
    const script = String.raw`mkdir -p from/$'d\xe9/e' from/plain && cd from && printf x >$'d\xe9/e/caf\xe9.txt' && printf y >$'\xf0\x9f\x98\x80\xff\xed\xb2\x80' && printf z >ü
      ln -s $'caf\xe9.txt' $'d\xe9/e/link\xe9' && touch $'x'{1..40}$'\xe9' && n=$(printf 'n%.0s' {1..150}) && printf l >$n$'\xe9'`;
    await run("bash", ["-ec", script], { cwd: folder });
    const tree = await packTree(join(folder, "from"), "from");
    expect([tree.skipped, tree.files]).toEqual([[], 44]);
    const pieces: Uint8Array[] = [];
    for await (const piece of tree.archive) pieces.push(piece);
    const data = Buffer.concat(pieces);
    await extract(data, { folder: join(folder, "there"), sourceName: "from", name: "from" });
    expect(await listed(join(folder, "there/from"))).toBe(await listed(join(folder, "from")));
    // As the guest's own tar reads it.
    await mkdir(join(folder, "by-tar"));
    await writeFile(join(folder, "archive.tar"), data);
    await run("tar", ["-xf", "archive.tar", "-C", "by-tar"], { cwd: folder });
    expect(await listed(join(folder, "by-tar/from"))).toBe(await listed(join(folder, "from")));
  } finally {
    await run("rm", ["-rf", folder]);
  }
});

test.each([
  ["web:/root/x", "web", "/root/x"],
  ["web:tmp", "web", "/tmp"],
  ["web:", "web", "/"],
  ["a/b ü:c:/root/", "a/b ü:c", "/root/"],
  ["web:/srv/a:/b", "web", "/srv/a:/b"],
])("%s is in the VM %s at %s", (text, vm, path) => {
  expect(vmPlace(text)).toEqual({ vm, path });
});

test.each(["./a:b", "/a:/b", "-", "plain", ":/x", "../a:/b"])("%s is here", (text) => {
  expect(vmPlace(text)).toBeUndefined();
});
