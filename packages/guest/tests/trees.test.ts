import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import path from "node:path";

import type { GuestOperation } from "@skerry/contract/guest-api/guest-operations";
import { expect, test } from "vitest";

import { useAgentInFolder } from "./support/agent-in-folder.ts";

const world = useAgentInFolder("trees");

type Line = Readonly<Record<string, unknown>>;

async function ask(operation: GuestOperation): Promise<{ lines: Line[]; result: Line; done: boolean }> {
  const { stdout, result, done } = await world.agent.link.open(operation).ended;
  const lines = stdout
    .toString()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
  return { lines, result, done };
}

async function codeOf(operation: GuestOperation): Promise<unknown> {
  const { done, result } = await ask(operation);
  return done ? "done" : result["code"];
}

test("one file is told of with its permissions, its owner and where it leads", async () => {
  writeFileSync(world.inside("file"), "12345", { mode: 0o640 });
  symlinkSync("file", world.inside("link"));
  const { lines } = await ask({ op: "stat", path: world.inside("file"), follow: false });
  expect(lines).toEqual([
    expect.objectContaining({ size: 5, type: "file", mode: 0o640, owner: userInfo().username }),
  ]);
  expect(lines[0]).not.toHaveProperty("target");
  const link = await ask({ op: "stat", path: world.inside("link"), follow: false });
  expect(link.lines[0]).toMatchObject({ type: "symlink", target: "file" });
  const followed = await ask({ op: "stat", path: world.inside("link"), follow: true });
  expect(followed.lines[0]).toMatchObject({ type: "file", size: 5 });
  execFileSync("chown", ["61234:61235", world.inside("file")]);
  const stranger = await ask({ op: "stat", path: world.inside("file"), follow: false });
  expect(stranger.lines[0]).toMatchObject({ owner: "61234", group: "61235" });
});

const attributesOf = (lines: readonly Line[]): Record<string, unknown> =>
  Object.fromEntries(lines.map(({ name, attributes }) => [name, attributes]));

/** As a program in the VM sets and reads them. */
function setAttribute(file: string, name: string, hexadecimal: string): void {
  execFileSync("python3", [
    "-c",
    "import os, sys; os.setxattr(sys.argv[1], sys.argv[2], bytes.fromhex(sys.argv[3]))",
    ...[file, name, hexadecimal],
  ]);
}

const hexOf = (text: string): string => Buffer.from(text).toString("hex");

test("a file is written with its attributes, which stats and lists tell, and a new version has none", async () => {
  const file = world.inside("file");
  const attributes = { author: "Ada", "e2b.x": 'quoted "é"\n', empty: "", ["n".repeat(250)]: "longest name" };
  const written = world.agent.link.open({ op: "write", path: file, mode: 0o644, attributes });
  await written.write(Buffer.from("x"));
  written.close();
  expect((await written.ended).result).toEqual({ size: 1 });
  const { lines } = await ask({ op: "stat", path: file, follow: false });
  expect(lines[0]?.["attributes"]).toEqual(attributes);
  mkdirSync(world.inside("folder/below"), { recursive: true });
  setAttribute(world.inside("folder"), "user.of", hexOf("a folder"));
  setAttribute(world.inside("folder/below"), "user.deep", hexOf("er"));
  symlinkSync("file", world.inside("link"));
  const listed = await ask({ op: "list", path: world.folder, limit: 100, depth: 3 });
  expect(attributesOf(listed.lines)).toEqual({
    file: attributes,
    folder: { of: "a folder" },
    "folder/below": { deep: "er" },
    link: undefined,
  });
  const followed = await ask({ op: "stat", path: world.inside("link"), follow: true });
  expect(followed.lines[0]?.["attributes"]).toEqual(attributes);
  const moved = await ask({ op: "move", path: file, to: world.inside("moved") });
  expect(moved.lines[0]?.["attributes"]).toEqual(attributes);
  await world.agent.link.write(world.inside("moved"), Buffer.from("again"));
  const again = await ask({ op: "stat", path: world.inside("moved"), follow: false });
  expect(again.lines[0]).not.toHaveProperty("attributes");
});

test("attributes that are no text, not a user's or too many are left out", async () => {
  const file = world.inside("file");
  writeFileSync(file, "");
  setAttribute(file, "user.nul", "610062");
  setAttribute(file, "trusted.secret", hexOf("not told"));
  setAttribute(file, "user.latin", "fc");
  const { lines } = await ask({ op: "stat", path: file, follow: false });
  expect(lines[0]?.["attributes"]).toEqual({ latin: "\ufffd" });
  for (let at = 0; at < 3; at += 1) setAttribute(file, `user.${at}`, hexOf("\u0001".repeat(1_000)));
  const full = await ask({ op: "stat", path: file, follow: false });
  expect(full.lines).toHaveLength(1);
  expect(Object.keys(full.lines[0]?.["attributes"] as object)).toHaveLength(4);
});

test.each([
  ["a name that is too long", { ["n".repeat(251)]: "" }],
  ["a name with =", { "a=b": "" }],
  ["an empty name", { "": "x" }],
  ["too many bytes", { a: "x".repeat(4_091) }],
  ["too many", Object.fromEntries(Array.from({ length: 257 }, (_, at) => [`${at}`, ""]))],
])("attributes with %s are refused, and nothing is written", async (_what, attributes) => {
  const file = world.inside("never");
  expect(await codeOf({ op: "write", path: file, mode: 0o644, attributes })).toBe("bad_request");
  expect(existsSync(file)).toBe(false);
});

test("a list goes as deep as it is told, and follows no link", async () => {
  mkdirSync(world.inside("a/b/c"), { recursive: true });
  writeFileSync(world.inside("a/b/c/deep"), "x");
  symlinkSync(world.folder, world.inside("a/b/loop"));
  const names = async (depth: number): Promise<string[]> => {
    const { lines } = await ask({ op: "list", path: world.folder, limit: 1_000, depth });
    return lines.map(({ name }) => name as string).toSorted();
  };
  expect(await names(1)).toEqual(["a"]);
  expect(await names(3)).toEqual(["a", "a/b", "a/b/c", "a/b/loop"]);
  expect(await names(64)).toEqual(["a", "a/b", "a/b/c", "a/b/c/deep", "a/b/loop"]);
  expect(await codeOf({ op: "list", path: world.folder, limit: 1, depth: 65 })).toBe("bad_request");
});

test("a list of very many and of very long names is cut, and says so", async () => {
  mkdirSync(world.inside("many"));
  execFileSync("bash", ["-c", "cd many; seq 1 3000 | xargs touch"], { cwd: world.folder });
  const cut = await ask({ op: "list", path: world.folder, limit: 1_000, depth: 2 });
  expect(cut.lines).toHaveLength(1_000);
  expect(cut.result).toEqual({ truncated: true });
  // Each byte of such a name takes six in the list.
  mkdirSync(world.inside("long"));
  for (let i = 0; i < 4_000; i += 1) writeFileSync(world.inside(`long/${i}${"\u0001".repeat(250)}`), "");
  const long = await ask({ op: "list", path: world.inside("long"), limit: 10_000 });
  expect(long.result).toEqual({ truncated: true });
  expect(JSON.stringify(long.lines).length).toBeLessThan(4 * 1024 * 1024);
});

test("a path deeper than any path may be is left out of a list, and removed all the same", async () => {
  execFileSync(
    "bash",
    ["-c", 'for i in $(seq 30); do d=$(printf "d%.0s" {1..200}); mkdir $d && cd $d; done; touch x'],
    { cwd: world.folder },
  );
  const { lines, result } = await ask({ op: "list", path: world.folder, limit: 1_000, depth: 64 });
  expect(lines.length).toBeLessThan(30);
  expect(result).toEqual({ truncated: true });
  expect(await codeOf({ op: "remove", path: world.inside("d".repeat(200)), recursive: true })).toBe("done");
  expect(readdirSync(world.folder)).toEqual([]);
});

test("a folder is made with those above it, and one that is there stays as it is", async () => {
  const { lines } = await ask({ op: "mkdir", path: world.inside("a/b/c/"), mode: 0o1777 });
  expect(lines).toEqual([expect.objectContaining({ type: "directory", mode: 0o1777 })]);
  expect(statSync(world.inside("a/b")).mode & 0o7777).toBe(0o755);
  const again = await ask({ op: "mkdir", path: world.inside("a/b/c"), mode: 0o700 });
  expect(again.lines[0]).toMatchObject({ mode: 0o1777 });
  symlinkSync("a", world.inside("link"));
  expect(await codeOf({ op: "mkdir", path: world.inside("link"), mode: 0o755 })).toBe("done");
  writeFileSync(world.inside("file"), "");
  symlinkSync("nowhere", world.inside("dangling"));
  expect(await codeOf({ op: "mkdir", path: world.inside("file"), mode: 0o755 })).toBe("not_a_directory");
  expect(await codeOf({ op: "mkdir", path: world.inside("file/x"), mode: 0o755 })).toBe("not_a_directory");
  expect(await codeOf({ op: "mkdir", path: world.inside("dangling"), mode: 0o755 })).toBe("not_found");
  expect(await codeOf({ op: "mkdir", path: "/", mode: 0o755 })).toBe("done");
});

test("permissions are set exactly, and those of a link's target", async () => {
  writeFileSync(world.inside("file"), "");
  symlinkSync("file", world.inside("link"));
  const { lines } = await ask({ op: "chmod", path: world.inside("link"), mode: 0o4750 });
  expect(lines[0]).toMatchObject({ type: "file", mode: 0o4750 });
  expect(statSync(world.inside("file")).mode & 0o7777).toBe(0o4750);
  expect(await codeOf({ op: "chmod", path: world.inside("none"), mode: 0o644 })).toBe("not_found");
});

test("a move renames, replaces a file, makes the folders above, and moves a link itself", async () => {
  writeFileSync(world.inside("old"), "new content");
  writeFileSync(world.inside("there"), "x");
  expect(
    (await ask({ op: "move", path: world.inside("old"), to: world.inside("there") })).lines[0],
  ).toMatchObject({
    size: 11,
  });
  expect(readFileSync(world.inside("there"), "utf8")).toBe("new content");
  symlinkSync("there", world.inside("link"));
  await ask({ op: "move", path: world.inside("link"), to: world.inside("x/y/link") });
  expect(lstatSync(world.inside("x/y/link")).isSymbolicLink()).toBe(true);
  mkdirSync(world.inside("full/sub"), { recursive: true });
  mkdirSync(world.inside("other"));
  expect(await codeOf({ op: "move", path: world.inside("other"), to: world.inside("full") })).toBe(
    "not_empty",
  );
  expect(await codeOf({ op: "move", path: world.inside("full"), to: world.inside("full/sub/x") })).toBe(
    "into_itself",
  );
  expect(await codeOf({ op: "move", path: world.inside("there"), to: world.inside("full") })).toBe(
    "is_a_directory",
  );
  expect(await codeOf({ op: "move", path: world.inside("none"), to: world.inside("z") })).toBe("not_found");
  expect(await codeOf({ op: "move", path: world.inside("there"), to: world.inside("n".repeat(256)) })).toBe(
    "path_too_long",
  );
});

test("a move to another file system takes the whole folder", async () => {
  const shared = mkdtempSync("/dev/shm/skerry-guest-");
  try {
    mkdirSync(world.inside("tree/sub"), { recursive: true });
    writeFileSync(world.inside("tree/sub/run"), "x", { mode: 0o755 });
    expect(await codeOf({ op: "move", path: world.inside("tree"), to: path.join(shared, "tree") })).toBe(
      "done",
    );
    expect(existsSync(world.inside("tree"))).toBe(false);
    expect(statSync(path.join(shared, "tree/sub/run")).mode & 0o777).toBe(0o755);
  } finally {
    rmSync(shared, { recursive: true });
  }
});

test("what is removed is a file, a link and not its target, an empty folder, and a full one only where that is said", async () => {
  mkdirSync(world.inside("full/a/b"), { recursive: true });
  writeFileSync(world.inside("full/a/b/file"), "");
  writeFileSync(world.inside("kept"), "");
  symlinkSync(world.inside("kept"), world.inside("full/a/link"));
  symlinkSync(world.folder, world.inside("full/a/up"));
  expect(await codeOf({ op: "remove", path: world.inside("full"), recursive: false })).toBe("not_empty");
  expect(existsSync(world.inside("full/a/b/file"))).toBe(true);
  expect(await codeOf({ op: "remove", path: world.inside("full/a/link"), recursive: true })).toBe("done");
  expect(await codeOf({ op: "remove", path: world.inside("full/"), recursive: true })).toBe("done");
  expect(readdirSync(world.folder)).toEqual(["kept"]);
  expect(await codeOf({ op: "remove", path: world.inside("full"), recursive: true })).toBe("not_found");
  expect(await codeOf({ op: "remove", path: "/", recursive: true })).toBe("permission_denied");
  expect(await codeOf({ op: "remove", path: world.inside("kept"), recursive: false })).toBe("done");
});

test("a loop of links, a path that is too long and one through a file each have their code", async () => {
  symlinkSync("two", world.inside("one"));
  symlinkSync("one", world.inside("two"));
  writeFileSync(world.inside("file"), "");
  expect(await codeOf({ op: "stat", path: world.inside("one/x"), follow: true })).toBe("link_loop");
  expect(await codeOf({ op: "stat", path: `/${"d/".repeat(3_000)}`, follow: true })).toBe("path_too_long");
  expect(await codeOf({ op: "stat", path: world.inside("file/x"), follow: true })).toBe("not_a_directory");
  expect(await codeOf({ op: "stat", path: "relative", follow: true })).toBe("bad_request");
  expect(await codeOf({ op: "move", path: world.inside("file"), to: "relative" })).toBe("bad_request");
});
