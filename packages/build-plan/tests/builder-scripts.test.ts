// The builder's scripts, in real namespaces of this machine, on a folder instead of a disk.

import { execFile, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  chmod,
  lchown,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PlannedStep, RequestedStep } from "../src/build-plan.ts";
import { planBuild } from "../src/plan/plan-build.ts";
import { stepFault } from "../src/plan/step-fault.ts";
import { SmallRoot } from "./support/small-root.ts";

let small: SmallRoot;
beforeAll(async () => {
  small = await SmallRoot.make();
});
afterAll(() => small[Symbol.asyncDispose]());

/** The last of these steps. */
function stepOf(...steps: readonly RequestedStep[]): PlannedStep {
  const step = planBuild({ steps }).steps.at(-2);
  if (step === undefined) throw new Error("there is no step");
  return step;
}

/** Processes of this machine in whose command line this is. */
async function processesWith(mark: string): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return lines.filter((line) => line.includes(mark)).length;
}

async function isMounted(folder: string): Promise<boolean> {
  return (await readFile("/proc/self/mounts", "utf8")).includes(folder);
}

const leftovers = async (): Promise<readonly string[]> =>
  (await readdir(small.root)).filter((name) => name.startsWith(".skerry-"));

test("a command runs in the template as its user, in its folder, with its environment alone, and its code is the step's", async () => {
  const { code, stdout, stderr } = await small.run(
    stepOf({ env: { A: "two\nlines '$X'" } }, { run: "id; env; echo to stderr >&2; exit 7" }),
  );
  expect([code, stderr]).toEqual([7, "to stderr\n"]);
  expect(stdout).toContain("uid=0(root) gid=0 groups=0\n");
  expect(stdout).toContain("A=two\nlines '$X'\n");
  expect(stdout).toContain("HOME=/root\n");
  expect(stdout).not.toContain("STEP_");
  await mkdir(join(small.root, "srv/site"), { recursive: true });
  const other = await small.run(
    stepOf({ user: "web" }, { workdir: "/srv/site" }, { run: "id; echo $HOME $PWD; exit 0" }),
  );
  expect(other).toEqual({
    code: 0,
    stdout: "uid=1234(web) gid=1235(web) groups=1235(web),77(more)\n/home/web /srv/site\n",
    stderr: "",
  });
});

test.each([
  ["4000", "uid=4000 gid=0 groups=0\n"],
  ["4000:4001", "uid=4000 gid=4001 groups=4001\n"],
  ["web:more", "uid=1234(web) gid=77(more) groups=77(more)\n"],
])("a user may be a number, and have a group: %s", async (user, line) => {
  expect((await small.run(stepOf({ user }, { run: "id" }))).stdout).toBe(line);
});

test.each<[string, readonly RequestedStep[], string]>([
  ["an unknown user", [{ user: "nobody1" }, { run: "id" }], "the template has no user nobody1"],
  ["an unknown group", [{ user: "web:none1" }, { run: "id" }], "the template has no group none1"],
  [
    "a missing source",
    [{ copy: { from: "missing", to: "/a" } }],
    "missing is not in the context, or is a link",
  ],
])("what cannot be done is refused with a sentence: %s", async (_, steps, sentence) => {
  const { code, stderr } = await small.run(stepOf(...steps));
  expect([code, stderr]).toEqual([125, expect.stringContaining(`skerry-build: step_invalid: ${sentence}`)]);
  expect(await leftovers()).toEqual([]);
});

test("a folder that is gone is named", async () => {
  const step = stepOf({ workdir: "/gone" }, { run: "id" });
  expect((await small.run(step)).stderr).toContain(
    "step_invalid: there is no folder /gone; make it by a workdir step",
  );
});

test("all that a step has started ends with it, and nothing stays mounted", async () => {
  const seconds = String(100_000 + randomBytes(3).readUIntBE(0, 3));
  const run = `(sleep ${seconds} &) ; ls /proc/self/fd >/dev/null && ls -d /dev/null /sys/kernel`;
  const { code, stdout } = await small.run(stepOf({ run }));
  expect([code, stdout]).toEqual([0, "/dev/null\n/sys/kernel\n"]);
  expect(await processesWith(seconds)).toBe(0);
  expect(await isMounted(small.root)).toBe(false);
  expect(await leftovers()).toEqual([]);
  expect(await readdir(join(small.root, "proc"))).toEqual([]);
});

test("a step that is killed leaves no process and no mount", async () => {
  const seconds = String(100_000 + randomBytes(3).readUIntBE(0, 3));
  const child = small.start(stepOf({ run: `sleep ${seconds} & echo runs; sleep ${seconds}` }));
  await once(child.stdout, "data");
  expect(await processesWith(seconds)).toBeGreaterThan(0);
  child.kill("SIGKILL");
  await once(child, "close");
  await expect.poll(() => processesWith(seconds)).toBe(0);
  expect(await isMounted(small.root)).toBe(false);
  for (const name of [...(await leftovers()), "etc/resolv.conf"])
    await rm(join(small.root, name), { recursive: true });
});

test("names are resolved as in the builder during a step, and the template's own file is as it was", async () => {
  const file = join(small.root, "etc/resolv.conf");
  const own = await readFile("/etc/resolv.conf", "utf8");
  expect((await small.run(stepOf({ run: "cat /etc/resolv.conf" }))).stdout).toBe(own);
  expect(existsSync(file)).toBe(false);
  await writeFile(file, "nameserver 192.0.2.1\n");
  expect((await small.run(stepOf({ run: "cat /etc/resolv.conf" }))).stdout).toBe(own);
  expect(await readFile(file, "utf8")).toBe("nameserver 192.0.2.1\n");
  await rm(file);
  // As of systemd-resolved: a link to what is not there.
  await symlink("/run/stub/resolv.conf", file);
  expect((await small.run(stepOf({ run: "cat /etc/resolv.conf" }))).stdout).toBe(own);
  expect(await readlink(file)).toBe("/run/stub/resolv.conf");
  expect(existsSync("/run/stub")).toBe(false);
  await rm(file);
});

test("a folder is copied with its links, permissions and hard links, and is root's", async () => {
  await mkdir(join(small.context, "app/below"), { recursive: true });
  await writeFile(join(small.context, "app/one"), "1");
  await chmod(join(small.context, "app/one"), 0o4755);
  await link(join(small.context, "app/one"), join(small.context, "app/two"));
  await symlink("../one", join(small.context, "app/below/link"));
  await writeFile(join(small.context, "app/below/a b\n*"), "odd");
  const { code, stderr } = await small.run(stepOf({ copy: { from: "app", to: "/new/app" } }));
  expect([code, stderr]).toEqual([0, ""]);
  const to = join(small.root, "new/app");
  const [one, two] = await Promise.all([stat(join(to, "one")), stat(join(to, "two"))]);
  expect([one.mode & 0o7777, one.uid, one.gid, one.ino]).toEqual([0o4755, 0, 0, two.ino]);
  expect(await readlink(join(to, "below/link"))).toBe("../one");
  expect(await readFile(join(to, "below/a b\n*"), "utf8")).toBe("odd");
  const before = (await stat(small.root)).mode;
  await chmod(small.context, 0o700);
  expect((await small.run(stepOf({ copy: { from: ".", to: "/" } }))).code).toBe(0);
  expect((await stat(small.root)).mode).toBe(before);
  expect(existsSync(join(small.root, "app/one"))).toBe(true);
});

test.each([
  ["the guest's agent", {}],
  ["tar, where the agent is one of an earlier version", { agent: "old; old() { return 2; }" }],
])("what %s copies is the same in a new folder, in an empty one, and beside other files", async (_, by) => {
  await using fresh = await SmallRoot.make(by);
  const app = join(fresh.context, "app");
  await mkdir(join(app, "closed/below"), { recursive: true });
  for (const mode of [0o000, 0o444, 0o600, 0o664, 0o755, 0o777]) {
    const file = join(app, `file-${mode}`);
    await writeFile(file, "x");
    await chmod(file, mode);
    await utimes(file, 1_000_000, 1_000_000 + mode);
  }
  await link(join(app, "file-292"), join(app, "closed/below/hard"));
  await symlink("nowhere", join(app, "link"));
  for (const name of await readdir(app)) await lchown(join(app, name), 1_234, 1_235);
  await chmod(join(app, "closed"), 0o555);
  const tree = (folder: string): string =>
    spawnSync("find", [folder, "-mindepth", "1", "-printf", "%P %y %m %U %G %T@ %n %l\\n"], {
      encoding: "utf8",
    })
      .stdout.split("\n")
      .toSorted()
      .join("\n");
  // One has a mode of its own, which it keeps.
  await mkdir(join(fresh.root, "empty"), { mode: 0o700 });
  await mkdir(join(fresh.root, "full"));
  await writeFile(join(fresh.root, "full/other"), "");
  for (const to of ["/new", "/empty", "/full"])
    expect(await fresh.run(stepOf({ copy: { from: "app", to } }))).toMatchObject({ code: 0, stderr: "" });
  await rm(join(fresh.root, "full/other"));
  const found = tree(join(fresh.root, "new"));
  expect(found).toContain("closed d 555 0 0");
  expect(found).toContain("file-0 f 0 0 0 1000000.0000000000 1");
  expect(tree(join(fresh.root, "empty"))).toBe(found);
  expect(tree(join(fresh.root, "full"))).toBe(found);
  expect((await stat(join(fresh.root, "empty"))).mode & 0o7777).toBe(0o700);
});

test("the root directory is as old as before, unless a step has changed what is in it", async () => {
  const modified = async () => (await stat(small.root)).mtimeMs;
  // The first command of a template makes /proc, /sys and /dev.
  for (const step of [{ workdir: "/made/below" }, { run: "true" }] as const)
    expect((await small.run(stepOf(step))).code).toBe(0);
  await utimes(small.root, 1_000_000, 1_000_000);
  for (const step of [{ workdir: "/made/more" }, { run: "true" }] as const) {
    expect((await small.run(stepOf(step))).code).toBe(0);
    expect(await modified()).toBe(1_000_000_000);
  }
  expect((await small.run(stepOf({ workdir: "/another" }))).code).toBe(0);
  expect(await modified()).toBeGreaterThan(1_000_000_000);
});

test("a file becomes the target, or goes into it with a slash at its end", async () => {
  await writeFile(join(small.context, "file"), "x");
  expect((await small.run(stepOf({ copy: { from: "file", to: "/f/as" } }))).code).toBe(0);
  expect((await small.run(stepOf({ copy: { from: "file", to: "/f/into/" } }))).code).toBe(0);
  expect(await readFile(join(small.root, "f/as"), "utf8")).toBe("x");
  expect(await readFile(join(small.root, "f/into/file"), "utf8")).toBe("x");
});

test("a context with too many entries, or with too long a path, is refused before anything is copied", async () => {
  await using other = await SmallRoot.make();
  const copy = stepOf({ copy: { from: ".", to: "/copied" } });
  let folder = other.context;
  for (let depth = 0; depth < 5; depth += 1) folder = join(folder, "d".repeat(200));
  await mkdir(folder, { recursive: true });
  const long = await other.run(copy);
  expect(long.code).toBe(125);
  expect(
    stepFault({ exit_code: 125, signal: 0, timed_out: false, oom_killed: false }, long.stderr.trim()),
  ).toEqual({
    code: "context_too_large",
    message: "The context has a path of more than 1000 bytes.",
  });
  await rm(join(other.context, "d".repeat(200)), { recursive: true });
  const name = "d".repeat(199);
  await mkdir(join(other.context, name, name, name, name, name), { recursive: true });
  expect((await other.run(copy)).code).toBe(0);
  const touch = 'cd "$1" && seq 200000 | xargs touch';
  await promisify(execFile)("bash", ["-c", touch, "-", other.context]);
  const many = await other.run(copy);
  expect(many).toMatchObject({
    code: 125,
    stderr: "skerry-build: context_too_large: the context has 200005 entries, and may have 200000\n",
  });
  // Two hundred thousand files are made and removed: minutes where the disk is busy.
}, 600_000);

test("no link in the template or the context leads a copy out of them", async () => {
  const outside = join(small.folder, "outside");
  await mkdir(outside);
  await writeFile(join(outside, "secret"), "secret");
  await writeFile(join(small.context, "plain"), "plain");
  await symlink(outside, join(small.root, "leads-out"));
  await symlink(join("..", "..", "..", "..", "..", outside), join(small.root, "climbs"));
  for (const to of ["/leads-out/", "/leads-out/x", "/climbs/", "/climbs/x"])
    await small.run(stepOf({ copy: { from: "plain", to } }));
  await small.run(stepOf({ workdir: "/leads-out/made" }));
  expect(await readdir(outside)).toEqual(["secret"]);
  await symlink(join(outside, "secret"), join(small.context, "to-outside"));
  await symlink("../root/etc/passwd", join(small.context, "to-template"));
  await symlink("/etc", join(small.context, "to-etc"));
  for (const from of ["to-outside", "to-template", "to-etc/passwd"]) {
    const { code, stderr } = await small.run(stepOf({ copy: { from, to: "/stolen" } }));
    expect([code, stderr]).toEqual([125, expect.stringContaining(`step_invalid: ${from} is `)]);
  }
  expect(existsSync(join(small.root, "stolen"))).toBe(false);
  // A link among what is copied stays a link.
  expect((await small.run(stepOf({ copy: { from: ".", to: "/all" } }))).code).toBe(0);
  expect((await lstat(join(small.root, "all/to-outside"))).isSymbolicLink()).toBe(true);
});

test("a command whose template has a link in the place of /proc or /dev mounts inside the template", async () => {
  await using other = await SmallRoot.make();
  const outside = join(other.folder, "outside");
  await mkdir(outside);
  await symlink(outside, join(other.root, "dev"));
  const { code, stderr } = await other.run(stepOf({ run: "ls /dev/null" }));
  expect([code, stderr]).toEqual([
    125,
    expect.stringContaining("the template has no place for /proc, /sys, /dev"),
  ]);
  expect(await isMounted(outside)).toBe(false);
});

test("what has no shell can be copied to, and runs nothing", async () => {
  await using scratch = await SmallRoot.make({ programs: [] });
  await writeFile(join(scratch.context, "program"), "x");
  expect((await scratch.run(stepOf({ workdir: "/app" }))).code).toBe(0);
  expect((await scratch.run(stepOf({ copy: { from: ".", to: "/app" } }))).code).toBe(0);
  expect(await readFile(join(scratch.root, "app/program"), "utf8")).toBe("x");
  const { code, stderr } = await scratch.run(stepOf({ run: "true" }));
  expect([code, stderr]).toEqual([
    125,
    expect.stringContaining("the template has no /bin/sh, which run needs"),
  ]);
});

test("a full disk is told apart from a command that fails", async () => {
  await using full = await SmallRoot.make({ mount: "mount -t tmpfs -o size=2m,mode=755 none /mnt" });
  await writeFile(join(full.context, "large"), Buffer.alloc(3 * 1024 * 1024, 1));
  const { code, stderr } = await full.run(stepOf({ copy: { from: "large", to: "/large" } }));
  expect(code).toBe(125);
  expect(stderr.trimEnd().split("\n").at(-1)).toBe("skerry-build: disk_full: the template's disk is full");
});

test("the last step removes what was temporary", async () => {
  await mkdir(join(small.root, "tmp/below"), { recursive: true });
  await mkdir(join(small.root, "var/tmp"), { recursive: true });
  await writeFile(join(small.root, "tmp/below/file"), "");
  await writeFile(join(small.root, "var/tmp/file"), "");
  const seal = planBuild({}).steps.at(-1);
  if (seal === undefined) throw new Error("there is no step");
  expect(await small.run(seal)).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(await readdir(join(small.root, "tmp"))).toEqual([]);
  expect(await readdir(join(small.root, "var/tmp"))).toEqual([]);
});
