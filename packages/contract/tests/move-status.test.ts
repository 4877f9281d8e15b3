import { expect, test } from "vitest";
import { incompatibility } from "../src/moves/host-compatibility.ts";
import type { HostCompatibility } from "../src/moves/host-compatibility.ts";
import {
  canMoveProceed,
  moveStatusesOnTarget,
  moveStatusesUnderWay,
  moveTransitions,
  type MoveStatus,
} from "../src/moves/move-status.ts";

const statuses = Object.keys(moveTransitions) as MoveStatus[];

test("a move that was decided about cannot be canceled, and one that was not can", () => {
  expect(statuses.filter((status) => canMoveProceed(status, "canceling"))).toEqual(["preparing", "sending"]);
});

test("every move comes to an end", () => {
  for (const status of statuses) {
    const reached = new Set<MoveStatus>([status]);
    for (const from of reached) for (const to of moveTransitions[from]) reached.add(to);
    expect([...reached].some((end) => moveTransitions[end].length === 0)).toBe(true);
  }
});

test("what holds room on a target is under way", () => {
  expect(moveStatusesUnderWay).toEqual(expect.arrayContaining([...moveStatusesOnTarget]));
});

const here: HostCompatibility = {
  accelerator: "tcg",
  qemu_version: "7.2.22",
  cpu: "emulated",
  tsc_khz: 2_600_000,
};

test("a guest can go on where everything is as it was", () => {
  expect(incompatibility(here, here)).toBeUndefined();
  expect(incompatibility(here, { ...here, tsc_khz: 2_600_400 })).toBeUndefined();
});

test.each<[string, Partial<HostCompatibility>]>([
  ["accelerator", { accelerator: "kvm", tsc_khz: null }],
  ["QEMU", { qemu_version: "8.2.0" }],
  ["CPU", { cpu: "Xeon" }],
  ["clock", { tsc_khz: 2_610_000 }],
  ["clock", { tsc_khz: null }],
])("a guest cannot go on with another %s", (what, other) => {
  expect(incompatibility(here, { ...here, ...other })).toContain(what);
});

test("a guest can go on under a later update of the same QEMU, so that a host can be drained to one that has it, and not back", () => {
  const debian = (text: string): HostCompatibility => ({ ...here, qemu_version: text });
  const [u9, u18, u19] = ["9", "18+b3", "19"].map((build) =>
    debian(`7.2.22 (Debian 1:7.2+dfsg-7+deb12u${build})`),
  ) as [HostCompatibility, HostCompatibility, HostCompatibility];
  expect(incompatibility(u18, u19)).toBeUndefined();
  expect(incompatibility(u9, u18)).toBeUndefined();
  expect(incompatibility(debian("7.2.9"), debian("7.2.22"))).toBeUndefined();
  expect(incompatibility(u19, u18)).toContain("QEMU");
  expect(incompatibility(debian("7.2.22"), debian("7.20.0"))).toContain("QEMU");
  expect(incompatibility(debian("unknown"), debian("unknown 2"))).toContain("QEMU");
});

test("a guest stays with the smaller QEMU or with the full one", () => {
  const [full, small] = ["7.2.22 (Debian 1:7.2)", "7.2.22 (Debian 1:7.2) microvm"].map((text) => ({
    ...here,
    qemu_version: text,
  })) as [HostCompatibility, HostCompatibility];
  expect(incompatibility(full, small)).toContain("QEMU");
  expect(incompatibility(small, full)).toContain("QEMU");
  expect(incompatibility(small, { ...small, qemu_version: "7.2.23 (Debian 1:7.2) microvm" })).toBeUndefined();
});
