import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";

import { expect, test } from "vitest";

import { useAgentInFolder } from "./support/agent-in-folder.ts";

const world = useAgentInFolder("files");
const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

test("random bytes of every size come back as they were written", async () => {
  for (const size of [0, 1, 65_535, 65_536, 65_537, 3_000_001]) {
    const data = randomBytes(size);
    // oxlint-disable-next-line no-await-in-loop
    expect((await world.agent.link.write(world.inside("data"), data)).result).toEqual({ size });
    // oxlint-disable-next-line no-await-in-loop
    const read = await world.agent.link.read(world.inside("data"));
    expect(read.head).toMatchObject({ size, mode: 0o644 });
    expect(read.result).toEqual({});
    expect(sha256(read.stdout)).toBe(sha256(data));
  }
});

test("an upload that is broken off leaves the file as it was, and nothing beside it", async () => {
  const target = world.inside("broken/kept");
  await world.agent.link.write(target, Buffer.from("before"));
  for (const size of [0, 1, 65_536, 200_000])
    for (let times = 0; times < 10; times += 1) {
      const upload = world.agent.link.open({ op: "write", path: target, mode: 0o644 });
      // oxlint-disable-next-line no-await-in-loop
      await upload.write(Buffer.alloc(size, "x"));
      upload.cancel();
      // oxlint-disable-next-line no-await-in-loop
      expect((await upload.ended).done).toBe(false);
    }
  // The agent may still be at it for a moment.
  await expect.poll(() => readdirSync(world.inside("broken")), { timeout: 20_000 }).toEqual(["kept"]);
  expect(readFileSync(target, "utf8")).toBe("before");
});

test("missing folders are made, permissions are exact, and an existing file is replaced whole", async () => {
  const target = world.inside("a/b/c/run.sh");
  await world.agent.link.write(target, Buffer.from("a longer first version"), 0o600);
  await world.agent.link.write(target, Buffer.from("second"), 0o4777);
  expect(readFileSync(target, "utf8")).toBe("second");
  expect(statSync(target).mode & 0o7777).toBe(0o4777);
  expect(statSync(world.inside("a/b")).mode & 0o7777).toBe(0o755);
  expect(readdirSync(world.inside("a/b/c"))).toEqual(["run.sh"]);
});

test("a file that is replaced gives its owner to the new one, and its access list", async () => {
  const target = world.inside("secret");
  writeFileSync(target, "old");
  chownSync(target, 1234, 5678);
  // One more user, 4321, may read: u::rw-, u:4321:r--, g::---, m::r--, o::---.
  const list = "0x0200000001000600ffffffff02000400e110000004000000ffffffff10000400ffffffff20000000ffffffff";
  const set = `import os; os.setxattr(${JSON.stringify(target)}, "system.posix_acl_access", bytes.fromhex("${list.slice(2)}"))`;
  execFileSync("python3", ["-c", set]);
  await world.agent.link.write(target, Buffer.from("new"), 0o640);
  const { uid, gid, mode } = statSync(target);
  expect([uid, gid, mode & 0o7777, readFileSync(target, "utf8")]).toEqual([1234, 5678, 0o640, "new"]);
  const get = `import os; print(os.getxattr(${JSON.stringify(target)}, "system.posix_acl_access").hex())`;
  expect(`0x${execFileSync("python3", ["-c", get]).toString().trim()}`).toBe(list);
});

test("a link is followed, also where it leads to nothing yet, and stays a link", async () => {
  mkdirSync(world.inside("there/below"), { recursive: true });
  const write = (name: string) => world.agent.link.write(world.inside(name), Buffer.from(name));
  symlinkSync("there/target", world.inside("first"));
  symlinkSync("first", world.inside("second"));
  symlinkSync("../new", world.inside("there/below/up"));
  symlinkSync(world.inside("there/absolute"), world.inside("far"));
  for (const [name, leadsTo] of [
    ["second", "there/target"],
    ["there/below/up", "there/new"],
    ["far", "there/absolute"],
  ] as const) {
    // oxlint-disable-next-line no-await-in-loop
    expect((await write(name)).result).toEqual({ size: name.length });
    expect(readFileSync(world.inside(leadsTo), "utf8")).toBe(name);
    expect(lstatSync(world.inside(name)).isSymbolicLink()).toBe(true);
  }
  symlinkSync("loop", world.inside("loop"));
  symlinkSync("none/below", world.inside("nowhere"));
  symlinkSync("there", world.inside("folder"));
  const codes = await Promise.all(
    ["loop", "nowhere", "folder"].map(async (name) => (await write(name)).result["code"]),
  );
  expect(codes).toEqual(["link_loop", "not_found", "is_a_directory"]);
  expect(readdirSync(world.inside("there")).toSorted()).toEqual(["absolute", "below", "new", "target"]);
});

test("another user's link in a folder that all may write to is replaced, and what it leads to is not written", async () => {
  mkdirSync(world.inside("shared"));
  chmodSync(world.inside("shared"), 0o1777);
  writeFileSync(world.inside("of-root"), "kept");
  symlinkSync("../of-root", world.inside("shared/trap"));
  lchownSync(world.inside("shared/trap"), 1234, 1234);
  symlinkSync("../of-root", world.inside("shared/own"));
  await world.agent.link.write(world.inside("shared/trap"), Buffer.from("new"));
  expect(readFileSync(world.inside("of-root"), "utf8")).toBe("kept");
  expect(lstatSync(world.inside("shared/trap")).isFile()).toBe(true);
  await world.agent.link.write(world.inside("shared/own"), Buffer.from("new"));
  expect(readFileSync(world.inside("of-root"), "utf8")).toBe("new");
});

test("a file with other names keeps them, and its old attributes go", async () => {
  writeFileSync(world.inside("one"), "a longer first version");
  linkSync(world.inside("one"), world.inside("two"));
  const tag = (name: string) =>
    `import os; os.setxattr(${JSON.stringify(world.inside(name))}, "user.old", b"1")`;
  execFileSync("python3", ["-c", tag("one")]);
  const before = statSync(world.inside("one"));
  for (const text of ["short", "a second version that is longer than the first one"]) {
    // oxlint-disable-next-line no-await-in-loop
    await world.agent.link.write(world.inside("one"), Buffer.from(text), 0o600);
    expect(readFileSync(world.inside("two"), "utf8")).toBe(text);
  }
  const after = statSync(world.inside("one"));
  expect([after.ino, after.nlink, after.mode & 0o7777]).toEqual([before.ino, 2, 0o600]);
  const names = `import os; print(os.listxattr(${JSON.stringify(world.inside("two"))}))`;
  expect(execFileSync("python3", ["-c", names]).toString()).not.toContain("user.old");
  expect(readdirSync(world.folder).toSorted()).toEqual(["one", "two"]);
});

test("a broken upload leaves the old file, and nothing beside it", async () => {
  await world.agent.link.write(world.inside("kept"), Buffer.from("old"));
  const canceled = world.agent.link.open({ op: "write", path: world.inside("kept"), mode: 0o644 });
  await canceled.write(Buffer.alloc(500_000));
  canceled.cancel();
  expect((await canceled.ended).result).toMatchObject({ code: "canceled" });
  const abandoned = world.agent.link.open({ op: "write", path: world.inside("new"), mode: 0o644 });
  await abandoned.write(Buffer.alloc(500_000));
  await world.agent.link.hello();
  await world.agent.link.execute("true");
  expect(readdirSync(world.folder)).toEqual(["kept"]);
  expect(readFileSync(world.inside("kept"), "utf8")).toBe("old");
});

test("a file of the kernel that has no size is read to its end", async () => {
  const read = await world.agent.link.read("/proc/self/status");
  expect(read.stdout.toString()).toContain("VmRSS");
});

test("a listing tells name, type and size, and does not follow links", async () => {
  writeFileSync(world.inside('file é "quoted"\n'), "12345");
  mkdirSync(world.inside("sub"));
  symlinkSync("/nowhere", world.inside("link"));
  execFileSync("mkfifo", [world.inside("fifo")]);
  execFileSync("bash", ["-c", String.raw`touch $'bad\xff\xc3name'`], { cwd: world.folder });
  const listed = await world.agent.link.list(world.folder);
  const entries = listed.stdout
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const byName = Object.fromEntries(entries.map((entry) => [entry["name"], entry]));
  expect(byName['file é "quoted"\n']).toMatchObject({ type: "file", size: 5 });
  expect(byName["sub"]).toMatchObject({ type: "directory" });
  expect(byName["link"]).toMatchObject({ type: "symlink" });
  expect(byName["fifo"]).toMatchObject({ type: "other" });
  expect(byName["bad\ufffd\ufffdname"]).toMatchObject({ type: "file", size: 0 });
  expect(Math.abs((byName["sub"]?.["modified_ms"] as number) - Date.now())).toBeLessThan(60_000);
  expect(listed.result).toEqual({ truncated: false });
});

test("a listing stops at its limit and says so", async () => {
  for (let i = 0; i < 300; i += 1) writeFileSync(world.inside(`${i}-${"n".repeat(200)}`), "");
  const cut = await world.agent.link.list(world.folder, 299);
  expect(cut.stdout.toString().trimEnd().split("\n")).toHaveLength(299);
  expect(cut.result).toEqual({ truncated: true });
  expect((await world.agent.link.list(world.folder, 300)).result).toEqual({ truncated: false });
});

test("every failure has its own code", async () => {
  writeFileSync(world.inside("file"), "");
  mkdirSync(world.inside("sub"));
  execFileSync("mkfifo", [world.inside("fifo")]);
  const code = async (
    ended: Promise<{ done: boolean; result: Readonly<Record<string, unknown>> }>,
  ): Promise<unknown> => {
    const { done, result } = await ended;
    return done ? "done" : result["code"];
  };
  const { link } = world.agent;
  const x = Buffer.from("x");
  expect(await code(link.read(world.inside("none")))).toBe("not_found");
  expect(await code(link.read(world.inside("sub")))).toBe("is_a_directory");
  expect(await code(link.read(world.inside("fifo")))).toBe("not_a_file");
  expect(await code(link.read("/dev/zero"))).toBe("not_a_file");
  expect(await code(link.read(world.inside("file/below")))).toBe("not_a_directory");
  expect(await code(link.list(world.inside("none")))).toBe("not_found");
  expect(await code(link.list(world.inside("file")))).toBe("not_a_directory");
  expect(await code(link.write(world.inside("sub"), x))).toBe("is_a_directory");
  expect(await code(link.write(world.inside("sub/"), x))).toBe("is_a_directory");
  expect(await code(link.write("/", x))).toBe("is_a_directory");
  expect(await code(link.write(world.inside("fifo"), x))).toBe("not_a_file");
  expect(await code(link.write(world.inside("file/below"), x))).toBe("not_a_directory");
  expect(await code(link.write(world.inside("n".repeat(256)), x))).toBe("path_too_long");
  expect(await code(link.write(`/tmp${"/d".repeat(2100)}`, x))).toBe("path_too_long");
  expect(await code(link.write("/proc/none", x))).toMatch(/permission_denied|not_found|io_error/u);
  expect(await code(link.write("/dev/full/x", x))).toBe("not_a_directory");
});

test("what a file is like comes whole, however the readers and the agent take turns", async () => {
  writeFileSync(world.inside("data"), "content");
  for (let round = 0; round < 5; round++) {
    // oxlint-disable-next-line no-await-in-loop -- as many at once as there is room for
    const ends = await Promise.all(
      Array.from({ length: 200 }, () => world.agent.link.read(world.inside("data"))),
    );
    for (const { head } of ends) expect(head).toMatchObject({ size: 7, mode: 0o644 });
  }
});
