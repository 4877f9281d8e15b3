// What is left to a QEMU that a guest has taken over: a program that takes its place tries everything that it can name. The list is in
// jail-list.txt; a change of it is a change of what docs/security.md promises.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TAP } from "../src/network/guest-link.ts";
import { runProgram } from "../src/system/run.ts";
import { loadedFrom, outermost } from "../src/vm/qemu/qemu-files.ts";
import { buildNative, type Native } from "./support/native.ts";
import { testSlots } from "./support/network.ts";

const UID = 1_899_999_009;
const deadlineMs = 60_000;
const here = import.meta.dirname;

let native: Native;
let folder: string;
let probe: string;
let neighbour: ChildProcess;
let listening: Server;

beforeAll(async () => {
  native = await buildNative();
  folder = await mkdtemp("/tmp/skerry-unit-jail-");
  await chmod(folder, 0o755);
  probe = join(folder, "jail-probe");
  const source = join(here, "native/jail-probe.c");
  await runProgram("gcc", ["-std=gnu11", "-O2", "-static", "-pthread", "-o", probe, source], { deadlineMs });
  await mkdir(join(folder, "vm"), { mode: 0o711 });
  await mkdir(join(folder, "libraries"));
  await writeFile(join(folder, "vm/disk"), "");
  await chown(join(folder, "vm/disk"), UID, UID);
  await writeFile(join(folder, "memory"), "", { mode: 0o444 });
  await writeFile(join(folder, "other"), "", { mode: 0o666 });
  // A process of the same user, and a socket that every user of the machine may connect to.
  neighbour = spawn("/bin/sleep", ["600"], { uid: UID, gid: UID, stdio: "ignore" });
  await once(neighbour, "spawn");
  listening = createServer().listen(join(folder, "open.sock"));
  await once(listening, "listening");
  await chmod(join(folder, "open.sock"), 0o777);
});
afterAll(async () => {
  neighbour.kill("SIGKILL");
  listening.close();
  await native[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** What the probe says in the jail of a VM with this network. */
async function tried(netns: readonly string[]): Promise<string[]> {
  const vm = [
    "--uid",
    String(UID),
    "--folder",
    join(folder, "vm"),
    "--file-mib",
    "64",
    "--device",
    "/dev/full",
  ];
  const sockets = ["--listen", "qmp.sock", "--listen", "agent.sock"];
  const reads = [probe, join(folder, "libraries"), join(folder, "memory")].flatMap((path) => [
    "--read",
    path,
  ]);
  const strange = [join(folder, "other"), join(folder, "open.sock"), "/etc/passwd", "/run"];
  const program = ["--", probe, String(neighbour.pid), ...strange];
  const said = await runProgram(native.launch, [...vm, ...netns, ...sockets, ...reads, ...program], {
    deadlineMs,
  });
  return said.trim().split("\n");
}

/** Numbers of system calls by what the C library's headers call them. */
async function callNames(): Promise<Map<string, string>> {
  const headers = ["-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"];
  const defined = await runProgram("gcc", headers, { deadlineMs });
  return new Map(
    [...defined.matchAll(/^#define __NR_(\w+) (\d+)$/gm)].map(([, name = "", call = ""]) => [call, name]),
  );
}

/** Lines of the list; those of system calls hold several. */
async function expected(): Promise<string[]> {
  const list = (await readFile(join(here, "jail-list.txt"), "utf8")).trim().split("\n");
  return list
    .filter((line) => !line.startsWith("#"))
    .flatMap((line) => {
      const [kind, ...names] = line.split(" ");
      return kind === "call" ? names.map((name) => `call ${name}`) : [line];
    });
}

test("a QEMU that a guest has taken over can do what is on the list, and nothing else", async () => {
  const slots = testSlots("j", native);
  const slot = slots.take();
  await slots.open(slot);
  try {
    const names = await callNames();
    const lines = (await tried(["--netns", slot.netnsFile, "--tap", TAP])).map((line) =>
      line
        .replace(/^call (\d+)$/, (_line, call: string) => `call ${names.get(call) ?? call}`)
        .replaceAll(folder, "FOLDER"),
    );
    expect(lines.toSorted()).toEqual((await expected()).toSorted());
  } finally {
    await slots.close(slot);
    await slots.drain();
  }
});

test("nothing that is mounted for a VM is seen on the machine", async () => {
  // With all mounts shared, as systemd has them: what is mounted in one namespace appears in the others.
  const shared = ["--mount", "--propagation", "shared", "sh", "-c"];
  const script = 'cat /proc/self/mountinfo; echo then; "$0" "$@" >/dev/null && cat /proc/self/mountinfo';
  const vm = ["--uid", String(UID), "--folder", join(folder, "vm"), "--read", probe, "--", probe, "1"];
  const said = await runProgram("unshare", [...shared, script, native.launch, ...vm], { deadlineMs });
  const [before = "", after = "none"] = said.split("then\n").map((mounts) =>
    mounts
      .split("\n")
      // Networks of other VMs on this machine come and go.
      .filter((line) => !line.includes(" nsfs "))
      .join("\n"),
  );
  // Elsewhere than at the root of its file system where the tests themselves run in a chroot.
  expect(before).toMatch(/^\d+ \d+ \S+ \S+ \/ /m);
  expect(after).toBe(before);
});

test("a host that lives in a chroot confines its QEMUs as well", async () => {
  const root = join(folder, "root");
  await mkdir(join(root, "sys"), { recursive: true });
  await mkdir(join(root, "vm"));
  await copyFile(native.launch, join(root, "launch"));
  await copyFile(probe, join(root, "probe"));
  await writeFile(join(root, "secret"), "", { mode: 0o666 });
  const args = ["--uid", String(UID), "--folder", "/vm", "--read", "/probe", "--", "/probe", "1", "/secret"];
  const said = (await runProgram("chroot", [root, "/launch", ...args], { deadlineMs })).split("\n");
  expect(said.filter((line) => /^(open|list|enter|create|connect)/.test(line)).toSorted()).toEqual([
    "list folder /",
    "list folder /dev",
    "list folder /vm",
    "open device /dev/null: read write",
    "open file /probe: read",
  ]);
});

test("the libraries of a QEMU are where the loader finds them, wherever the QEMU lies", () => {
  const said = [
    "\tlinux-vdso.so.1 (0x00007f6844f3a000)",
    "\tlibfdt.so.1 => /opt/qemu/lib/libfdt.so.1 (0x00007f6842a00000)",
    "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f6842800000)",
    "\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f6842700000)",
    "\tlibgone.so.1 => not found",
    "\t/lib64/ld-linux-x86-64.so.2 (0x00007f6844f3c000)",
  ].join("\n");
  expect(loadedFrom(said)).toEqual({
    loader: ["/lib64/ld-linux-x86-64.so.2"],
    folders: ["/opt/qemu/lib", "/lib/x86_64-linux-gnu"],
  });
  expect(outermost(["/a/b/c", "/a/b", "/a/bc", "/a/b"])).toEqual(["/a/b", "/a/bc"]);
});
