import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { figureOf } from "@skerry/contract/hosts/finding";
import { expect, test } from "vitest";
import { judge, type Bar } from "../src/examine/judge.ts";
import { kvmExits } from "../src/examine/kvm-exits.ts";

const bar: Bar = { most: 100, of: "p99", remedy: "wait", isSpeed: true };

test("a figure is its median, its p99 and its worst, and of a rate the smallest is the worst", () => {
  const samples = [5, 1, 4, 2, 3];
  expect(figureOf("cont", "ms", samples)).toEqual({
    ...{ what: "cont", unit: "ms", samples: 5, median: 3, p99: 5, worst: 5 },
  });
  expect(figureOf("upload", "MB/s", samples, { isRate: true })).toMatchObject({
    median: 3,
    p99: 1,
    worst: 1,
  });
});

test("a figure that misses its bar is a warning with what to do, and no fault", () => {
  const real = { isEmulated: false };
  const ok = judge([figureOf("cont", "ms", [1, 2, 99.9])], bar, real);
  expect(ok).toMatchObject({ verdict: "ok", found: "cont: p99 99.9 ms", remedy: "" });
  const slow = judge([figureOf("cont", "ms", [1, 2, 101]), figureOf("stop", "ms", [1])], bar, real);
  expect(slow).toMatchObject({ verdict: "warning", remedy: "wait" });
  expect(slow.found).toBe("cont: p99 101 ms, expected at most 100");
  expect(slow.figures.map(({ what }) => what)).toEqual(["cont", "stop"]);
});

test("how fast an emulated guest is is told and not judged, and its other figures are judged as ever", () => {
  const emulated = { isEmulated: true };
  const slow = judge([figureOf("cont", "ms", [1_000])], bar, emulated);
  expect(slow).toMatchObject({ verdict: "ok", remedy: "" });
  expect(slow.found).toContain("emulated: says nothing about KVM");
  const stray = judge([figureOf("stray", "ms", [1_000])], { ...bar, isSpeed: false }, emulated);
  expect(stray.verdict).toBe("warning");
});

test("a figure without a sample meets no bar", () => {
  expect(judge([figureOf("cont", "ms", [])], bar, { isEmulated: false }).verdict).toBe("warning");
});

test("exits of a guest are read where the kernel counts them for the guest, or for each of its CPUs", async () => {
  const folder = await mkdtemp("/tmp/skerry-unit-kvm-");
  try {
    await mkdir(join(folder, "41-9"));
    await writeFile(join(folder, "41-9/exits"), "1200\n");
    for (const vcpu of ["vcpu0", "vcpu1"]) {
      await mkdir(join(folder, "42-9", vcpu), { recursive: true });
      await writeFile(join(folder, "42-9", vcpu, "exits"), "30\n");
    }
    expect(await kvmExits(41, folder)).toBe(1_200);
    expect(await kvmExits(42, folder)).toBe(60);
    expect(await kvmExits(4, folder)).toBeUndefined();
  } finally {
    await rm(folder, { recursive: true });
  }
});
