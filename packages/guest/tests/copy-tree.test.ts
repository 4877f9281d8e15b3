// The agent's program that copies a folder into the root directory of a template, which is a tenant's.

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { link, lstat, mkdir, mkdtemp, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Build, buildSanitized } from "./support/sanitized.ts";

const BUILD_MS = 120_000;
let build: Build;
let folder: string;
let root: string;
let from: string;

beforeAll(async () => void (build = await buildSanitized()), BUILD_MS);
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-copy-"));
  root = join(folder, "root");
  from = join(folder, "from");
  for (const each of ["root/to", "from"]) await mkdir(join(folder, each), { recursive: true });
});
// Node removes no path of the length that one test makes.
afterEach(() => void execFileSync("rm", ["-rf", folder]));

function copy(to = "/to"): [number | null, string] {
  // There is no /proc in that root directory, which the look for leaks needs.
  const { status, stderr } = spawnSync(build.agent, ["--copy-tree", root, from, to], {
    ...{ encoding: "utf8", env: { ASAN_OPTIONS: "detect_leaks=0" } },
  });
  return [status, stderr];
}
const sh = (script: string): void =>
  void execFileSync("/bin/sh", ["-ec", script], { cwd: folder, stdio: "ignore" });

test("what is in the way of a file, a link or a folder is replaced, and a folder with something in it is not", async () => {
  await writeFile(join(from, "file"), "new");
  await writeFile(join(from, "of-empty"), "new");
  await symlink("file", join(from, "link"));
  await mkdir(join(from, "folder/below"), { recursive: true });
  await writeFile(join(from, "linked"), "new");
  sh(`cd root/to; echo old >file; mkdir of-empty; echo old >link; echo old >folder; ln -s nowhere linked`);
  expect(copy()).toEqual([0, ""]);
  for (const name of ["file", "of-empty", "linked"])
    expect(await readFile(join(root, "to", name), "utf8")).toBe("new");
  expect(existsSync(join(root, "nowhere"))).toBe(false);
  expect(await readlink(join(root, "to/link"))).toBe("file");
  expect((await stat(join(root, "to/folder/below"))).isDirectory()).toBe(true);
  sh(`cd root/to; rm of-empty; mkdir -p of-empty/full`);
  expect(copy()).toEqual([1, "copy: of-empty: cannot be made: Directory not empty\n"]);
});

test("a link to a folder is followed within the root directory, and leads nowhere else", async () => {
  await mkdir(join(from, "logs"));
  await writeFile(join(from, "logs/one"), "1");
  sh(`mkdir outside root/var; ln -s /var root/to/logs`);
  expect(copy()).toEqual([0, ""]);
  expect(await readFile(join(root, "var/one"), "utf8")).toBe("1");
  expect((await lstat(join(root, "to/logs"))).isSymbolicLink()).toBe(true);
  for (const target of [join(folder, "outside"), "../../outside", "../../../../../../../../../../../../.."]) {
    sh(`rm -rf root/to/logs; ln -s ${target} root/to/logs`);
    expect(copy()).toEqual([0, ""]);
    expect(existsSync(join(folder, "outside/one"))).toBe(false);
    expect(existsSync("/one")).toBe(false);
  }
  // The last one leads to the root directory itself.
  expect(await readFile(join(root, "one"), "utf8")).toBe("1");
  expect(copy("/to/logs/../../..")).toEqual([0, ""]);
  expect(await readFile(join(root, "logs/one"), "utf8")).toBe("1");
});

test("hard links stay links of one another, also many, and what is special stays what it is", async () => {
  for (const name of ["a", "b"]) await mkdir(join(from, name));
  for (let index = 0; index < 500; index += 1) {
    await writeFile(join(from, `a/${index}`), String(index));
    await link(join(from, `a/${index}`), join(from, `b/${index}`));
  }
  sh(`mkfifo from/fifo; mknod from/null c 1 3; ln from/fifo from/fifo-too`);
  await writeFile(join(root, "to/b"), "a file in the way");
  expect(copy()).toEqual([0, ""]);
  for (const index of [0, 250, 499]) {
    const [one, other] = await Promise.all(["a", "b"].map((name) => stat(join(root, `to/${name}/${index}`))));
    expect(one?.ino).toBe(other?.ino);
    expect(await readFile(join(root, `to/b/${index}`), "utf8")).toBe(String(index));
  }
  expect((await stat(join(root, "to/fifo"))).isFIFO()).toBe(true);
  expect((await stat(join(root, "to/fifo"))).ino).toBe((await stat(join(root, "to/fifo-too"))).ino);
  expect((await stat(join(root, "to/null"))).rdev).toBe(0x103);
});

test("the deepest path that a context may have is copied, and a deeper one is told", async () => {
  sh(`cd from; for n in $(seq 499); do mkdir d; cd d; done; echo deep >file`);
  expect(copy()).toEqual([0, ""]);
  expect(await readFile(join(root, "to", "d/".repeat(499), "file"), "utf8")).toBe("deep\n");
  sh(`n=$(printf %0250d 0); cd from; for one in $(seq 16); do mkdir $n; cd $n; done; mkdir $n`);
  const [code, said] = copy();
  expect([code, said]).toEqual([1, expect.stringMatching(/cannot be copied: File name too long\n$/)]);
});

test("a file that is larger than what is copied at once is whole, and a full disk is told", async () => {
  const bytes = Buffer.alloc(400_001, "x");
  await writeFile(join(from, "large"), bytes);
  expect(copy()).toEqual([0, ""]);
  expect((await readFile(join(root, "to/large"))).equals(bytes)).toBe(true);
  sh("mount -t tmpfs -o size=64k none root/to");
  try {
    expect(copy()).toEqual([1, "copy: large: cannot be written: No space left on device\n"]);
  } finally {
    sh("umount root/to");
  }
});

test("folders that are not there are told", () => {
  expect(copy("/none")).toEqual([
    1,
    "copy: .: the folder to copy to cannot be opened: No such file or directory\n",
  ]);
  from = join(folder, "none");
  expect(copy()).toEqual([1, "copy: .: the folder to copy cannot be opened: No such file or directory\n"]);
});
