// What a sandbox uses, told before its host has measured it.

import { Sandbox } from "e2b-2.51";
import { expect, test } from "vitest";
import { readPoint } from "../src/e2b/live-metric.ts";
import { e2bOptions } from "./support/e2b.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const at = new Date("2026-01-01T00:00:00.000Z");

const written = `cpu  100 0 100 700 100 0 0 0 0 0
cpu  150 0 150 750 150 0 0 0 0 0
MemTotal:         491520 kB
MemAvailable:     245760 kB
/dev/root        10218772 2043754   8175018  21% /
`;

test("what a guest writes of itself is read, and what is none is not", () => {
  expect(readPoint(written, at)).toEqual({
    ...{ at: at.toISOString(), cpu: 0.5 },
    ...{ memory_bytes: 245_760 * 1024, disk_bytes: 2_043_754 * 1024 },
  });
  for (const text of ["", "cpu  a b", written.replace(/^MemTotal.*$/m, ""), written.split("\n")[0] ?? ""])
    expect(readPoint(text, at)).toBeUndefined();
  // A clock that stands still, and one that runs back.
  const still = written.replace("cpu  150 0 150 750 150", "cpu  100 0 100 700 100");
  expect(readPoint(still, at)?.cpu).toBe(0);
  const back = written.replace("cpu  150 0 150 750 150", "cpu  0 0 0 0 0");
  expect(readPoint(back, at)?.cpu).toBe(0);
});

test("a line of digits that a guest writes is read in one way, and holds nothing up", () => {
  const digits = written.replace("cpu  100 0", `cpu  ${"1".repeat(5_000)}x\ncpu  100 0`);
  expect(readPoint(digits, at)?.cpu).toBe(0.5);
  expect(readPoint(`cpu  ${"1".repeat(1_000_000)}`, at)).toBeUndefined();
  expect(readPoint(written.replace("cpu  150", `cpu  ${"9".repeat(400)}`), at)?.cpu).toBe(0);
});

test("a sandbox that does not tell has no metrics, and is not asked while it is paused", async () => {
  const sandbox = await Sandbox.create(e2bOptions(world));
  expect(await sandbox.getMetrics()).toEqual([]);
  await sandbox.pause();
  const calls = world.host.calls.length;
  expect(await sandbox.getMetrics()).toEqual([]);
  expect(world.host.calls.slice(calls).filter((call) => call.includes("execut"))).toEqual([]);
  expect((await sandbox.getInfo()).state).toBe("paused");
});
