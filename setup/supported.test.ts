// What the matrix of supported systems says of recorded trials, and what a trial is recorded from.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  accelerators,
  branchOf,
  cellVerdict,
  qemuBranches,
  recordedTrials,
  systemOf,
  systems,
  withTrial,
  type SystemTrial,
} from "@skerry/contract/platform/supported-systems";
import { sourceLines } from "./debian-root.ts";
import { supportedPage } from "./supported-page.ts";
import { failedFiles, renewed, resultOf } from "./test-report.ts";

const tests: SystemTrial = {
  ...{ system: "Debian 13", qemu: "10.0.2 (Debian 1:10.0.2+ds-2)", accelerator: "tcg" },
  ...{ trial: "end-to-end", only: [], passed: true, result: "150 passed, 0 failed" },
  ...{ commit: "abcdef0", date: "2026-11-22", versions: { libc: "2.41" } },
};
const firstSandbox: SystemTrial = { ...tests, trial: "first-sandbox", result: "passed" };
const cell = { system: "Debian 13", qemu: "10.0", accelerator: "tcg" } as const;

test("a cell was run here once first sandbox and all end-to-end tests have passed on it", () => {
  expect(cellVerdict(cell, [])).toBe("not tried");
  expect(cellVerdict(cell, [tests])).toBe("run in parts");
  expect(cellVerdict(cell, [tests, firstSandbox])).toBe("run here");
  expect(cellVerdict(cell, [{ ...tests, only: ["tests/move.test.ts"] }, firstSandbox])).toBe("run in parts");
  expect(cellVerdict(cell, [{ ...tests, passed: false }, firstSandbox])).toBe("run in parts");
  expect(cellVerdict(cell, [{ ...firstSandbox, passed: false }])).toBe("not tried");
  for (const other of [
    { ...cell, qemu: "7.2" },
    { ...cell, system: "Debian 12" },
    { ...cell, accelerator: "kvm" as const },
  ])
    expect(cellVerdict(other, [tests, firstSandbox])).toBe("not tried");
});

test("the page shows a failed trial, and what it ran with", () => {
  const page = supportedPage([
    { ...tests, passed: false, result: "149 passed, 1 failed", note: "a known fault" },
  ]);
  const row = page.split("\n").find((line) => line.includes("149 passed"));
  for (const text of ["Debian 13", "10.0.2+ds-2", "**failed**", "abcdef0", "libc 2.41", "(a known fault)"])
    expect(row).toContain(text);
  expect(page).not.toMatch(/^\| Debian 13 .*\*\*run/m);
  expect(supportedPage([tests, firstSandbox])).toMatch(/^\| Debian 13 .*\| \*\*run here\*\* +\|$/m);
});

test("a trial takes the place of the same one before it, and of no other", () => {
  const again = { ...tests, qemu: "10.0.9", date: "2026-12-01" };
  const partial = { ...tests, only: ["tests/move.test.ts"] };
  const withKvm: SystemTrial = { ...tests, accelerator: "kvm" };
  const all = [firstSandbox, partial, withKvm].reduce(withTrial, [tests]);
  expect(all).toHaveLength(4);
  const renewed = withTrial(all, again);
  expect(renewed).toHaveLength(4);
  expect(renewed).toContain(again);
  expect(renewed).not.toContain(tests);
});

test("recorded trials are on cells that the page shows", () => {
  for (const { system, qemu, accelerator } of recordedTrials) {
    expect(systems).toContain(system);
    expect(qemuBranches).toContain(branchOf(qemu));
    expect(accelerators).toContain(accelerator);
  }
});

test("a file that is run again counts with what came of it then, and is named", () => {
  const file = (name: string, ...statuses: string[]) => ({
    name: `/skerry/tests/${name}`,
    status: statuses.includes("failed") ? ("failed" as const) : ("passed" as const),
    assertionResults: statuses.map((status) => ({ status })),
  });
  const earlier = {
    testResults: [
      file("files", "passed", "skipped"),
      file("move", "passed", "failed"),
      file("kill", "failed"),
    ],
  };
  expect(resultOf(earlier, "/skerry")).toBe("2 passed, 2 failed; 1 did not run");
  expect(failedFiles(earlier)).toEqual(["/skerry/tests/move", "/skerry/tests/kill"]);
  const later = renewed(earlier, { testResults: [file("move", "passed", "passed"), file("kill", "failed")] });
  expect(failedFiles(later)).toEqual(["/skerry/tests/kill"]);
  const last = renewed(later, { testResults: [file("kill", "passed")] });
  expect(resultOf(last, "/skerry")).toBe(
    "4 passed, 0 failed; 1 did not run; of these at another try, alone: tests/kill, tests/move",
  );
});

test("the README promises no system that nobody has tried", () => {
  const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
  const line = readme.split("\n").find((text) => text.startsWith("Needs ")) ?? "";
  const named = systems.filter((system) => line.includes(system));
  expect(named.length).toBeGreaterThan(0);
  for (const system of named) {
    const verdicts = qemuBranches.map((qemu) => cellVerdict({ system, qemu, accelerator: "tcg" }));
    expect(new Set(verdicts), system).not.toEqual(new Set(["not tried"]));
  }
  expect(line).toContain("docs/supported.md");
});

test("a system is known by its os-release, and one beside the matrix by its own name", () => {
  const debian = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nVERSION_ID="13"\nID=debian\n';
  const ubuntu = 'PRETTY_NAME="Ubuntu 24.04.1 LTS"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=debian\n';
  const mint = 'PRETTY_NAME="Linux Mint 22"\nVERSION_ID="22"\nID=linuxmint\nID_LIKE="ubuntu debian"\n';
  expect([debian, ubuntu, mint].map(systemOf)).toEqual(["Debian 13", "Ubuntu 24.04", "Linux Mint 22"]);
  expect(systemOf("")).toBe("unknown");
});

test("a root of another release has the machine's own sources", () => {
  const archive = "http://archive.example/debian/";
  const security = "http://archive.example/debian-security/";
  const sources = [
    { uri: archive, release: "bookworm" },
    { uri: archive, release: "bookworm-updates" },
    { uri: security, release: "bookworm-security" },
    { uri: "http://other.example/", release: "stable" },
  ];
  expect(sourceLines(sources, "bookworm", { suite: "trixie", qemuFrom: undefined })).toEqual([
    `deb ${archive} trixie main`,
    `deb ${archive} trixie-updates main`,
    `deb ${security} trixie-security main`,
  ]);
  const own = { suite: "bookworm", qemuFrom: "bookworm-backports" };
  expect(sourceLines(sources, "bookworm", own).at(-1)).toBe(`deb ${archive} bookworm-backports main`);
});
