import { spawn } from "node:child_process";
import { chmod, mkdtemp, open, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { getPriority } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findSize } from "@skerry/contract/sizes";
import { TAP, UPLINK } from "../src/network/guest-link.ts";
import { openCgroups } from "../src/vm/qemu/cgroup.ts";
import { runProgram } from "../src/system/run.ts";
import { buildNative, type Native } from "./support/native.ts";
import { testSlots } from "./support/network.ts";
import { tools } from "./support/tools.ts";

const UID = 1_899_999_001;
const instance = `unit${process.pid}-launch`;

let native: Native;
beforeAll(async () => {
  native = await buildNative();
});
afterAll(() => native[Symbol.asyncDispose]());

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the launcher to its end, with these file descriptors inherited from number 3 on. */
function launch(args: readonly string[], inherited: readonly (number | "ignore")[] = []): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(native.launch, args, {
      stdio: ["ignore", "pipe", "pipe", ...inherited],
      timeout: 10_000,
    });
    const text = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (part: string) => (text[name] += part));
    }
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, ...text }));
  });
}

const asUser = ["--uid", String(UID), ...tools.flatMap((folder) => ["--read", folder])];
/** A script that starts no programs, because none may be started. In a file, because perl wants /dev/null for one that is given. */
async function perl(script: string): Promise<string[]> {
  const file = join(native.folder, "script.pl");
  await writeFile(file, script);
  return ["--read", file, "--", "/usr/bin/perl", file];
}
const status = ["--", "/bin/cat", "/proc/self/status"];

test("a program is started as its own user, without any capability or way to get one", async () => {
  const { code, stdout } = await launch([...asUser, ...status]);
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`^Uid:(\t${UID}){4}$`, "m"));
  expect(stdout).toMatch(new RegExp(`^Gid:(\t${UID}){4}$`, "m"));
  expect(stdout).toMatch(/^Groups:\s*$/m);
  for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
    expect(stdout).toMatch(new RegExp(`^${set}:\t0+$`, "m"));
  expect(stdout).toMatch(/^NoNewPrivs:\t1$/m);
});

test("a program is in an IPC namespace of its own", async () => {
  const { stdout } = await launch([...asUser, "--", "/usr/bin/readlink", "/proc/self/ns/ipc"]);
  expect(stdout).toMatch(/^ipc:\[\d+\]\n$/);
  expect(stdout.trim()).not.toBe(await readlink("/proc/self/ns/ipc"));
});

test("a program opens the device that it is given, whose node in the machine is root's alone, and no other user can open its own", async () => {
  // As /dev/kvm is where no udev runs. This one is the kernel's /dev/full.
  const device = `/dev/skerry-unit-${process.pid}`;
  await runProgram("mknod", ["-m", "600", device, "c", "1", "7"], { deadlineMs: 10_000 });
  try {
    const script = `opendir $dev, "/dev"; print join(" ", sort grep !/^[.]/, readdir $dev);
      @found = stat "${device}"; printf " %d %d %o", @found[4, 5], $found[2] & 0777;
      print sysopen($file, "${device}", 2) ? " opened" : " $!"`;
    expect((await launch([...asUser, ...(await perl(script))])).stdout).toBe(
      "null 0 0 0 No such file or directory",
    );
    const given = await launch([...asUser, "--device", device, ...(await perl(script))]);
    expect(given.stdout).toBe(`null ${basename(device)} ${UID} ${UID} 600 opened`);
    const { uid, mode } = await stat(device);
    expect([uid, mode & 0o777]).toEqual([0, 0o600]);
  } finally {
    await rm(device, { force: true });
  }
});

test("only a program whose memory is no file gets huge pages", async () => {
  expect((await launch([...asUser, ...status])).stdout).toMatch(/^THP_enabled:\t0$/m);
  expect((await launch([...asUser, "--huge-pages", "on", ...status])).stdout).toMatch(/^THP_enabled:\t1$/m);
});

test("a program dumps no core and opens a bounded number of files", async () => {
  const { stdout } = await launch([...asUser, "--", "/bin/cat", "/proc/self/limits"]);
  expect(stdout).toMatch(/^Max core file size +0 +0 /m);
  expect(stdout).toMatch(/^Max open files +1024 +1024 /m);
});

test("a program has its folder and its variables, and no others, and what it says is added to its log", async () => {
  const folder = await mkdtemp("/tmp/skerry-unit-launch-");
  try {
    const log = join(folder, "log");
    await writeFile(log, "before\n");
    const files = ["--folder", folder, "--log", "log", "--env", "COLOR=blue", "--env", "EMPTY="];
    const script = `use Cwd; $| = 1; print STDERR getcwd, "\\n"; print <STDIN>; print "$_=$ENV{$_}\\n" for sort keys %ENV; print "end\\n"`;
    const started = await launch([...files, ...asUser, ...(await perl(script))]);
    expect(started).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+ \d+\n$/) as string, stderr: "" });
    await expect
      .poll(async () => (await readFile(log, "utf8")).split("\n"), { timeout: 10_000 })
      .toEqual(["before", folder, "COLOR=blue", "EMPTY=", "end", ""]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("a program yields to the servers of its host", async () => {
  const { stdout } = await launch([...asUser, "--", "/bin/cat", "/proc/self/stat"]);
  expect(Number(stdout.split(" ")[18])).toBeGreaterThan(getPriority());
});

test("a program finds the frozen state as file 3, and inherits no other file", async () => {
  const file = await open("/etc/hostname", "r");
  try {
    const inherited = Array.from({ length: 12 }, () => file.fd);
    const { stdout } = await launch(
      [...asUser, "--state", "/etc/hostname", "--", "/bin/ls", "/proc/self/fd"],
      inherited,
    );
    // 4 is the folder that ls itself reads.
    expect(
      stdout
        .trim()
        .split(/\s+/)
        .map(Number)
        .sort((a, b) => a - b),
    ).toEqual([0, 1, 2, 3, 4]);
  } finally {
    await file.close();
  }
});

test("a program is in its network namespace, with the TAP as file 10", async () => {
  const slots = testSlots("l", native);
  const slot = slots.take();
  await slots.open(slot);
  try {
    const confined = [...asUser, "--netns", slot.netnsFile, "--tap", TAP, "--"];
    const { stdout: tap } = await launch([...confined, "/bin/readlink", "/proc/self/fd/10"]);
    expect(tap).toBe("/dev/net/tun\n");
    const files = ["/proc/self/net/dev", "/proc/self/fdinfo/10"];
    const { code, stdout, stderr } = await launch([...confined, "/bin/cat", ...files]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const devices = [...stdout.matchAll(/^ *(\w+):.*\d+ +\d+$/gm)].map(([, name]) => name);
    expect(new Set(devices)).toEqual(new Set(["lo", TAP, UPLINK]));
    expect(stdout).toMatch(new RegExp(`^iff:\t${TAP}$`, "m"));
  } finally {
    await slots.close(slot);
    await slots.drain();
  }
});

test("a program runs in its cgroup from its first moment on, where there are cgroups", async () => {
  const cgroups = await openCgroups(instance);
  const size = findSize("shared-cpu-1x");
  const folder = size === undefined ? undefined : await cgroups.create("vm", size);
  if (folder === undefined) {
    expect(cgroups.description).toMatch(/^none: /);
    return;
  }
  try {
    const { stdout } = await launch([...asUser, "--cgroup", folder, "--", "/bin/cat", "/proc/self/cgroup"]);
    expect(stdout).toMatch(new RegExp(`^0::.*/${instance}/vm$`, "m"));
  } finally {
    await cgroups.remove("vm");
    await cgroups.remove(".");
  }
});

test("a program gets its sockets ready made, in a folder that it cannot change", async () => {
  const folder = await mkdtemp("/tmp/skerry-unit-launch-");
  await chmod(folder, 0o711);
  const script = `print readlink("/proc/self/fd/$_"), "\\n" for 11, 12;
    unlink "one.sock" or print "$!\\n"; symlink "/etc/passwd", "three.sock" or print "$!\\n"`;
  const sockets = ["--folder", folder, "--listen", "one.sock", "--listen", "two.sock"];
  const { stdout } = await launch([...asUser, ...sockets, ...(await perl(script))]);
  const refused = ["Permission denied", "Operation not permitted"];
  expect(stdout.replaceAll(/\d+/g, "N").split("\n")).toEqual(["socket:[N]", "socket:[N]", ...refused, ""]);
  const { uid, mode } = await stat(join(folder, "one.sock"));
  expect({ uid, mode: mode & 0o777 }).toEqual({ uid: 0, mode: 0o600 });
  expect((await readdir(folder)).sort()).toEqual(["one.sock", "two.sock"]);
  await rm(folder, { recursive: true });
});

test.each([
  ["no user", ["--", "/bin/true"], "usage:"],
  ["root", ["--uid", "0", "--", "/bin/true"], "not an id: 0"],
  ["a user that is no number", ["--uid", "12x", "--", "/bin/true"], "not an id: 12x"],
  ["a negative user", ["--uid", "-1", "--", "/bin/true"], "not an id: -1"],
  [
    "a device that is not there",
    [...asUser, "--device", "/dev/no-such", "--", "/bin/true"],
    "find /dev/no-such",
  ],
  [
    "a device that is a file",
    [...asUser, "--device", "/etc/passwd", "--", "/bin/true"],
    "not a character device",
  ],
  ["no program", asUser, "usage:"],
  ["nothing behind the dashes", [...asUser, "--"], "usage:"],
  ["an unknown flag", [...asUser, "--chroot", "/", "--", "/bin/true"], "unknown flag --chroot"],
  [
    "a cgroup that is not there",
    [...asUser, "--cgroup", "/nowhere", "--", "/bin/true"],
    "join cgroup /nowhere",
  ],
  [
    "a namespace that is not there",
    [...asUser, "--netns", "/nowhere", "--", "/bin/true"],
    "enter network namespace",
  ],
  [
    "a namespace that is a plain file",
    [...asUser, "--netns", "/etc/hostname", "--", "/bin/true"],
    "enter network",
  ],
  ["a TAP with a name too long", [...asUser, "--tap", "x".repeat(16), "--", "/bin/true"], "TAP xxxx"],
  ["a socket in no folder", [...asUser, "--listen", "/nowhere/x", "--", "/bin/true"], "bind /nowhere/x"],
  ["a console without a log", [...asUser, "--console", "/tmp/x", "--", "/bin/true"], "usage:"],
  ["a program that is not there", [...asUser, "--", "/nowhere"], "exec /nowhere: No such file"],
  ["a program that is no program", [...asUser, "--", "/etc/passwd"], "exec /etc/passwd: Permission denied"],
])("with %s nothing is started, and one line says why", async (_what, args, why) => {
  const { code, stdout, stderr } = await launch(args);
  expect({ code, stdout }).toEqual({ code: 126, stdout: "" });
  expect(stderr).toMatch(/^launch: .*\n$/);
  expect(stderr).toContain(why);
});

test("only the program itself carries its command line", async () => {
  // Without a log the launcher waits for it.
  const program = ["--", "/bin/sleep", "600", "600"];
  const launcher = spawn(native.launch, [...asUser, ...program], { stdio: "ignore" });
  try {
    const commandLine = async (pid: number | undefined): Promise<string> =>
      (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " ").trim();
    const child = async (): Promise<number> =>
      Number(await readFile(`/proc/${launcher.pid}/task/${launcher.pid}/children`, "utf8"));
    await expect.poll(async () => commandLine(await child()), { timeout: 10_000 }).toBe("/bin/sleep 600 600");
    expect(await commandLine(launcher.pid)).toMatch(/ --$/);
  } finally {
    launcher.kill("SIGKILL");
  }
});
