import { expect, test } from "vitest";
import { footingFault } from "../src/footing.ts";
import type { Footing } from "../src/host-moves.ts";
import {
  canMoveProceed,
  moveStatusesOnTarget,
  moveStatusesUnderWay,
  moveTransitions,
  type MoveStatus,
} from "../src/move-states.ts";

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

const here: Footing = {
  accelerator: "tcg",
  qemu_version: "7.2.22",
  cpu: "emulated",
  tsc_khz: 2_600_000,
};

test("a guest can go on where everything is as it was", () => {
  expect(footingFault(here, here)).toBeUndefined();
  expect(footingFault(here, { ...here, tsc_khz: 2_600_400 })).toBeUndefined();
});

test.each<[string, Partial<Footing>]>([
  ["accelerator", { accelerator: "kvm", tsc_khz: null }],
  ["QEMU", { qemu_version: "8.2.0" }],
  ["CPU", { cpu: "Xeon" }],
  ["clock", { tsc_khz: 2_610_000 }],
  ["clock", { tsc_khz: null }],
])("a guest cannot go on with another %s", (what, other) => {
  expect(footingFault(here, { ...here, ...other })).toContain(what);
});
