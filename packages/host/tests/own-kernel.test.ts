import { chmod, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { runProgram } from "../src/system/run.ts";
import { bootFolders, ensureInitramfs, unusedBootFiles } from "../src/templates/boot-files.ts";
import { ensureOwnKernel, OwnKernelFault, versionOfKernel } from "../src/templates/own-kernel.ts";
import { buildNative, type Native } from "./support/native.ts";

const DEADLINE_MS = 10_000;

let native: Native;
beforeAll(async () => {
  native = await buildNative();
});
afterAll(() => native[Symbol.asyncDispose]());

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-kernel-");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function bzImage(version: string): Buffer {
  const image = Buffer.alloc(4_096);
  image.writeUInt16LE(0xaa55, 0x1fe);
  image.write("HdrS", 0x202);
  image.writeUInt16LE(0x600, 0x20e);
  image.write(`${version} (somebody@somewhere) #1 SMP\0`, 0x800);
  return image;
}

/** With one note, of this name and type. */
function vmlinux({ name = "Xen\0", type = 18, version = "6.12.95" } = {}): Buffer {
  const image = Buffer.alloc(4_096);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(image);
  image.writeBigUInt64LE(64n, 32);
  image.writeUInt16LE(1, 56);
  image.writeUInt32LE(4, 64);
  image.writeBigUInt64LE(512n, 64 + 8);
  image.writeBigUInt64LE(20n, 64 + 32);
  image.writeUInt32LE(name.length, 512);
  image.writeUInt32LE(4, 516);
  image.writeUInt32LE(type, 520);
  image.write(name, 524, "latin1");
  image.write(`Linux version ${version} (gcc) #1\n`, 1_024);
  return image;
}

async function written(name: string, content: Buffer): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
}

test("a bzImage and a vmlinux that boots by PVH are kernels, with their version", () => {
  expect(versionOfKernel(bzImage("6.1.0-51-cloud-amd64"))).toBe("6.1.0-51-cloud-amd64");
  expect(versionOfKernel(vmlinux({ version: "6.12.95-own+" }))).toBe("6.12.95-own+");
});

test.each([
  ["nothing", Buffer.alloc(0)],
  ["text", Buffer.from("#!/bin/sh\n".repeat(100))],
  ["zeros", Buffer.alloc(4_096)],
  ["a vmlinux without PVH", vmlinux({ type: 1 })],
  ["a vmlinux whose note is another's", vmlinux({ name: "GNU\0" })],
  ["a vmlinux cut off in its headers", vmlinux().subarray(0, 100)],
  ["a vmlinux cut off in its notes", vmlinux().subarray(0, 520)],
])("%s is no kernel", (_what, content) => {
  expect(versionOfKernel(content)).toBeUndefined();
});

test("headers that point anywhere are looked through to their end, and no further", () => {
  for (const at of [32, 56, 64 + 8, 64 + 32, 512, 516]) {
    const image = vmlinux({ type: 1 });
    image.fill(0xff, at, at + (at === 56 ? 2 : 4));
    expect(versionOfKernel(image), `changed at ${at}`).toBeUndefined();
  }
});

test("a host says what to do about a kernel that it cannot use", async () => {
  const fault = (file: string) => ensureOwnKernel(join(folder, "own"), file).then(String, (error) => error);
  expect(await fault(join(folder, "none"))).toBeInstanceOf(OwnKernelFault);
  expect(await fault(join(folder, "none"))).toMatchObject({
    message: `SKERRY_GUEST_KERNEL: ${folder}/none is not there. Name a bzImage (as /boot/vmlinuz-*) or a vmlinux built with CONFIG_PVH, or unset it for Debian's kernel.`,
  });
  expect(String(await fault(folder))).toContain(`${folder} is not a file.`);
  expect(String(await fault("/dev/zero"))).toContain("is not a file");
  expect(String(await fault("/proc/self/mem/x"))).toContain("cannot be read (ENOTDIR)");
  const text = await written("text", Buffer.from("text"));
  expect(String(await fault(text))).toContain("is neither a bzImage nor a vmlinux with PVH");
  const large = await written("large", bzImage("6.1"));
  await truncate(large, 300 * 1024 * 1024);
  expect(String(await fault(large))).toContain("has more than 256 MiB; strip");
});

test("guests boot from a copy, so a kernel can be replaced, and what it boots has another identity then", async () => {
  const { own } = bootFolders(folder);
  const agent = await written("agent", Buffer.from("agent"));
  const file = await written("bzImage", bzImage("6.1"));
  const open = async () =>
    ensureInitramfs(own, await ensureOwnKernel(own, file), { agent, contain: native.contain });
  const first = await open();
  expect(await open()).toEqual(first);
  await chmod(file, 0o600);
  await writeFile(file, bzImage("6.1").fill(1, 3_000));
  expect(await readFile(first.kernel)).toEqual(bzImage("6.1"));
  const second = await open();
  expect(second.digest).not.toBe(first.digest);
  expect(second.kernelVersion).toBe("6.1");
  expect((await unusedBootFiles(folder, second)).toSorted()).toEqual(
    [first.initramfs, first.kernel].toSorted(),
  );
});

test("the initramfs for a kernel of one's own carries no modules: its drivers are built in", async () => {
  const { own } = bootFolders(folder);
  const agent = await written("agent", Buffer.from("agent"));
  const kernel = await ensureOwnKernel(own, await written("vmlinux", vmlinux()));
  const { initramfs } = await ensureInitramfs(own, kernel, { agent, contain: native.contain });
  const listed = await runProgram("sh", ["-c", 'cpio --quiet -t <"$0"', initramfs], {
    deadlineMs: DEADLINE_MS,
  });
  expect(listed.trim().split("\n").toSorted()).toEqual([".", "dev", "init", "proc", "root-fs", "run", "sys"]);
});
