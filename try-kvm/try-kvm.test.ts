import { expect, test } from "vitest";
import type { Measure } from "../bench/results.ts";
import { cpuFinding, mergeFinding, processFinding } from "./boundary.ts";
import { findingsOfMeasures } from "./findings-of-measures.ts";

const measure = (more: Partial<Measure>): Measure => ({
  ...{ what: "create answered", unit: "ms", samples: [10, 20, 30], bar: "median ≤ 15" },
  ...more,
});
const kvm = { isEmulated: false };

test("a measure that misses its bar is a warning where guests run on KVM, and told where they are emulated", () => {
  const [missed] = findingsOfMeasures("life", [measure({})], kvm);
  expect(missed).toMatchObject({ section: "life", check: "create answered", verdict: "warning" });
  expect(missed?.found).toBe("median 20 ms, expected median ≤ 15");
  expect(missed?.remedy).not.toBe("");
  expect(missed?.figures).toEqual([
    { what: "create answered", unit: "ms", samples: 3, median: 20, p99: 30, worst: 30 },
  ]);
  const [emulated] = findingsOfMeasures("life", [measure({})], { isEmulated: true });
  expect(emulated).toMatchObject({ verdict: "ok", remedy: "", found: "median 20 ms, emulated" });
});

test("a measure that meets its bar, or has none, is ok; what was compared with something that is not there too", () => {
  const other = measure({ what: "podman", samples: [], skipped: "podman is not installed", bar: "–" });
  const measures = [
    measure({ bar: "median ≤ 25" }),
    measure({ bar: "–" }),
    measure({ bar: "median ≤ 2 × podman" }),
    other,
  ];
  const verdicts = findingsOfMeasures("life", measures, kvm).map(({ verdict }) => verdict);
  expect(verdicts).toEqual(["ok", "ok", "ok", "not_tried"]);
});

test("one failed attempt is a fault, with its reason, also where guests are emulated", () => {
  for (const isEmulated of [true, false]) {
    const [failed] = findingsOfMeasures("life", [measure({ failures: ["no capacity"] })], { isEmulated });
    expect(failed).toMatchObject({ verdict: "fault", found: "1 attempts failed: no capacity" });
  }
});

const HELD = `Name:\tqemu-system-x86
Uid:\t1900000001\t1900000001\t1900000001\t1900000001
Gid:\t1900000001\t1900000001\t1900000001\t1900000001
Groups:\t
CapInh:\t0000000000000000
CapPrm:\t0000000000000000
CapEff:\t0000000000000000
CapBnd:\t0000000000000000
CapAmb:\t0000000000000000
NoNewPrivs:\t1
Seccomp:\t2
Seccomp_filters:\t2
`;

test("what holds a VM's process is read from the kernel, and each thing that is missing is a fault", () => {
  expect(processFinding(HELD)).toMatchObject({ verdict: "ok" });
  expect(processFinding(HELD).found).toContain("2 seccomp filters");
  const loose: readonly (readonly [string, string, string])[] = [
    ["Uid:\t1900000001", "Uid:\t0", "its ids are"],
    ["Groups:\t", "Groups:\t104", "groups 104"],
    ["CapBnd:\t0000000000000000", "CapBnd:\t000001ffffffffff", "capabilities (CapBnd)"],
    ["NoNewPrivs:\t1", "NoNewPrivs:\t0", "gain privileges"],
    ["Seccomp_filters:\t2", "Seccomp_filters:\t0", "no seccomp filter"],
  ];
  for (const [from, to, fault] of loose) {
    expect(HELD).toContain(from);
    const finding = processFinding(HELD.replace(from, to));
    expect(finding.verdict).toBe("fault");
    expect(finding.found).toContain(fault);
  }
});

test("memory that KSM may merge is a fault", () => {
  expect(mergeFinding("VmFlags: rd wr mr mw me ac sd\n")).toMatchObject({ verdict: "ok" });
  expect(mergeFinding("VmFlags: rd wr mr mw me mg\nVmFlags: rd\n")).toMatchObject({
    ...{ verdict: "fault", found: "KSM may merge 1 areas of its memory" },
  });
});

test("a guest that sees the extensions for guests of its own is a fault, unless its CPU is emulated", () => {
  const isEmulated = false;
  expect(cpuFinding("flags : fpu avx2", { isEmulated })).toMatchObject({ verdict: "ok" });
  expect(cpuFinding("flags : fpu vmx", { isEmulated })).toMatchObject({
    ...{ verdict: "fault", found: "the guest sees vmx" },
  });
  expect(cpuFinding("flags : fpu svm", { isEmulated: true })).toMatchObject({ verdict: "not_tried" });
});
