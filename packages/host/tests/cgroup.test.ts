import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DEFAULT_SIZE, findSize, type Size } from "@skerry/contract/sizes";
import { expect, test } from "vitest";
import { cgroupLimits, openCgroups } from "../src/vm/qemu/cgroup.ts";

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
  expect(cgroupLimits(small)).toEqual({
    "memory.max": String((small.memory_mib + 192 + Math.ceil(small.memory_mib / 128)) * 1024 ** 2),
    "pids.max": "128",
    "cpu.max": "125000 100000",
    "cpu.weight": "100",
  });
  // 32 GiB need 64 MiB of page tables for QEMU, as much for the processor's, and more for a guest that runs guests.
  expect(Number(cgroupLimits(large)["memory.max"]) - large.memory_mib * 1024 ** 2).toBeGreaterThan(
    (192 + 192) * 1024 ** 2,
  );
});
