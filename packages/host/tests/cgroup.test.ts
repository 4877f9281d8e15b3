import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, rmdir, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DEFAULT_SIZE, findSize, type Size } from "@skerry/contract/sizes";
import { expect, test } from "vitest";
import { cgroupLimits, cpuMax, openCgroups } from "../src/vm/qemu/cgroup.ts";
import { deviceNumber } from "@skerry/contract/hosts/device-number";
import { diskNumberOf } from "../src/vm/qemu/disk-number.ts";

const size = findSize(DEFAULT_SIZE) as Size;
/** Elsewhere a VM has none. */
const hasTree = (await readFile("/proc/mounts", "utf8")).includes(" cgroup2 rw");

test.skipIf(!hasTree)("a VM's cgroup goes with all that runs in it, whoever started it", async () => {
  const cgroups = await openCgroups(`skerry-unit-${process.pid}`);
  const folder = (await cgroups.create("sbx_a-exe_1", size)) ?? "";
  const stranger = spawn("sleep", ["600"], { stdio: "ignore" });
  try {
    await once(stranger, "spawn");
    await writeFile(join(folder, "cgroup.procs"), String(stranger.pid));
    const ended = once(stranger, "exit");
    await cgroups.remove("sbx_a-exe_1");
    await expect(ended).resolves.toEqual([null, "SIGKILL"]);
    await expect(stat(folder)).rejects.toThrow("ENOENT");
    await cgroups.remove("sbx_a-exe_1");
  } finally {
    stranger.kill("SIGKILL");
    await rmdir(folder).catch(() => undefined);
    await rmdir(dirname(folder));
  }
});

test("a VM has its memory, QEMU's and that of page tables, and its CPUs with a quarter of one for QEMU's own threads", () => {
  const [small, large] = [findSize("shared-cpu-1x"), findSize("performance-16x")];
  if (small === undefined || large === undefined) throw new Error("sizes are missing");
  expect(cgroupLimits(small).always).toEqual({
    "memory.max": String((small.memory_mib + 192 + Math.ceil(small.memory_mib / 128)) * 1024 ** 2),
    "pids.max": "128",
    "cpu.max": "125000 100000",
    "cpu.weight": "100",
  });
  // Another for the thread that sends its memory, while it leaves.
  expect(cpuMax(small, "leaves")).toBe("225000 100000");
  // 32 GiB need 64 MiB of page tables for QEMU, as much for the processor's, and more for a guest that runs guests.
  expect(Number(cgroupLimits(large).always["memory.max"]) - large.memory_mib * 1024 ** 2).toBeGreaterThan(
    (192 + 192) * 1024 ** 2,
  );
});

test("a VM is not swapped out, and uses the disk by its size", () => {
  const [small, large] = [findSize("shared-cpu-1x"), findSize("performance-2x")];
  if (small === undefined || large === undefined) throw new Error("sizes are missing");
  expect(cgroupLimits(small).whereOffered).toEqual({ "memory.swap.max": "0" });
  expect(cgroupLimits(small, "254:0").whereOffered).toEqual({
    "memory.swap.max": "0",
    "io.max": "254:0 rbps=134217728 wbps=134217728 riops=4000 wiops=4000",
  });
  expect(cgroupLimits(large, "8:0").whereOffered["io.max"]).toBe(
    "8:0 rbps=536870912 wbps=536870912 riops=16000 wiops=16000",
  );
});

test("limits hold for the whole disk under a folder, and for none where there is no single one", async () => {
  const { dev } = await stat("/tmp", { bigint: true });
  const devices = await mkdtemp("/tmp/skerry-unit-disk-");
  try {
    await mkdir(join(devices, "sdx/sdx1"), { recursive: true });
    await writeFile(join(devices, "sdx/dev"), "8:16\n");
    await writeFile(join(devices, "sdx/sdx1/dev"), `${deviceNumber(dev)}\n`);
    await symlink("sdx/sdx1", join(devices, deviceNumber(dev)));
    expect(await diskNumberOf("/tmp", devices)).toBe(deviceNumber(dev));
    await writeFile(join(devices, "sdx/sdx1/partition"), "1\n");
    expect(await diskNumberOf("/tmp", devices)).toBe("8:16");
  } finally {
    await rm(devices, { recursive: true });
  }
  expect(await diskNumberOf("/proc")).toBeUndefined();
  expect(deviceNumber(0xfe00n)).toBe("254:0");
  // As `stat -c '%Hd:%Ld'` prints it.
  expect(deviceNumber(0x10_0000n + 0x1f05n)).toBe("31:261");
});
