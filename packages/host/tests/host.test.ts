import { expect, test } from "vitest";
import { memoryForVmsMib } from "@skerry/contract/hosts/memory-for-vms";
import { tscKhz, tscKhzOf } from "../src/vm/qemu/accelerator.ts";

const MIB = 1024 * 1024;

test("a reserve is kept from VMs: 1.5 GiB, or a tenth of a machine where that is more", () => {
  expect(memoryForVmsMib(24_105 * MIB)).toBe(24_105 - 2_410);
  expect(memoryForVmsMib(4_096 * MIB)).toBe(4_096 - 1_536);
  expect(memoryForVmsMib(1_024 * MIB)).toBe(0);
});

const cpuinfo = (bogomips: string, flags: string): string =>
  [0, 1]
    .map((cpu) =>
      [
        `processor\t: ${cpu}`,
        "vendor_id\t: GenuineIntel",
        "cpu MHz\t\t: 800.017",
        `flags\t\t: fpu vme tsc ${flags} nopl`,
        "vmx flags\t: tsc_offset",
        ...(bogomips === "" ? [] : [`bogomips\t: ${bogomips}`]),
        "",
      ].join("\n"),
    )
    .join("\n");

test("the rate of the time-stamp counter is read from bogomips, not from today's frequency", () => {
  expect(tscKhzOf(cpuinfo("5192.27", "constant_tsc nonstop_tsc"))).toBe(2_596_135);
  expect(tscKhzOf(cpuinfo("4800.00", "constant_tsc"))).toBe(2_400_000);
});

test.each([
  ["no constant counter", cpuinfo("5192.27", "rep_good")],
  ["no bogomips", cpuinfo("", "constant_tsc")],
  ["another architecture", "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n"],
  ["a flag that only looks alike", cpuinfo("5192.27", "not_constant_tsc")],
])("a CPU with %s is refused for emulation, because clocks would run wrong", (_what, text) => {
  expect(() => tscKhzOf(text)).toThrow("use KVM");
});

test("the counter of this machine has a plausible rate", async () => {
  const khz = await tscKhz();
  expect(khz).toBeGreaterThan(500_000);
  expect(khz).toBeLessThan(10_000_000);
});
