import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";

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

test("missing folders are made, permissions are exact, and an existing file is replaced whole", async () => {
  const target = world.inside("a/b/c/run.sh");
  await world.agent.link.write(target, Buffer.from("a longer first version"), 0o600);
  await world.agent.link.write(target, Buffer.from("second"), 0o4777);
  expect(readFileSync(target, "utf8")).toBe("second");
  expect(statSync(target).mode & 0o7777).toBe(0o4777);
  expect(statSync(world.inside("a/b")).mode & 0o7777).toBe(0o755);
  expect(readdirSync(world.inside("a/b/c"))).toEqual(["run.sh"]);
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
