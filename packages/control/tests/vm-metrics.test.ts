// What a sandbox or a machine has used over time.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { VmSample } from "@skerry/contract/host-api/metrics";
import type { VmMetrics } from "@skerry/contract/vms/metrics";
import { metricsPoints } from "../src/vms/metrics/metrics-points.ts";
import { World } from "./support/world.ts";

let world: World;
let id: string;
beforeAll(async () => {
  world = await World.open();
  id = (await world.createSandbox({ mode: "persistent" })).id;
});
afterAll(() => world[Symbol.asyncDispose]());

const MINUTE_MS = 60_000;
const START_MS = Date.UTC(2026, 10, 20, 16);

/** One that has used so much of everything, so many minutes after the start. */
function sample(minute: number, used: number, more: Partial<VmSample> = {}): VmSample {
  return {
    ...{ at_ms: START_MS + minute * MINUTE_MS, life: 7, age_ms: (minute + 1) * MINUTE_MS },
    ...{ cpu_ms: used * 1_000, memory_bytes: used, disk_bytes: used },
    ...{ disk_read_bytes: used, disk_written_bytes: used },
    ...{ network_received_bytes: used, network_sent_bytes: used },
    ...more,
  };
}

const points = (samples: readonly VmSample[], stepMs = MINUTE_MS, sinceMs = 0) =>
  metricsPoints(samples, { sinceMs, stepMs });
const cpu = (samples: readonly VmSample[], stepMs?: number, sinceMs?: number) =>
  points(samples, stepMs, sinceMs).map(({ cpu_seconds }) => cpu_seconds);

test("a step has what was used in it, the most memory, and the last size of the disk", () => {
  const samples = [
    sample(0, 1),
    sample(1, 9),
    sample(2, 9, { memory_bytes: 3, disk_bytes: 2 }),
    sample(5, 30),
  ];
  expect(points(samples, 5 * MINUTE_MS)).toEqual([
    {
      at: "2026-11-20T16:00:00.000Z",
      ...{ cpu_seconds: 9, memory_bytes: 9, disk_bytes: 2, disk_read_bytes: 9, disk_written_bytes: 9 },
      ...{ network_received_bytes: 9, network_sent_bytes: 9 },
    },
    expect.objectContaining({ at: "2026-11-20T16:05:00.000Z", cpu_seconds: 21, memory_bytes: 30 }),
  ]);
});

test("a new life counts from 0, and one whose beginning is not kept from its first sample", () => {
  const next = { life: 8, age_ms: 30_000 };
  expect(cpu([sample(0, 5), sample(1, 2, next), sample(2, 3, next)])).toEqual([5, 2, 1]);
  expect(cpu([sample(0, 500, { age_ms: 10 * MINUTE_MS }), sample(1, 501)])).toEqual([0, 1]);
});

test("what comes before the time that was asked for is counted from, and not shown", () => {
  expect(cpu([sample(0, 5), sample(1, 7), sample(2, 8)], MINUTE_MS, START_MS + MINUTE_MS)).toEqual([2, 1]);
});

test("a counter that runs backwards is no use", () => {
  expect(cpu([sample(0, 5), sample(1, 4), sample(2, 6)])).toEqual([5, 0, 2]);
});

const read = (query = "") =>
  world.call<VmMetrics & { code: string; context: object }>("GET", `/v1/sandboxes/${id}/metrics${query}`);

test("they are those of its host, which also tells what it cannot read; also while it is paused", async () => {
  world.host.metrics.samples = { items: [sample(0, 5), sample(6, 7)], damaged: 2 };
  const all = await read();
  expect([all.status, all.body.step, all.body.items.length, all.body.damaged]).toEqual([200, "5m", 2, 2]);
  const hourly = await read("?step=1h&since=2026-11-20T16:00:00Z");
  expect(hourly.body).toMatchObject({ step: "1h", items: [{ cpu_seconds: 7 }] });
  await world.call("POST", `/v1/sandboxes/${id}/pause`);
  expect((await read()).body.items.length).toBe(2);
});

test.each([
  ["?step=59s", 400, "invalid_duration", "step"],
  ["?step=5", 400, "invalid_duration", "step"],
  ["?step=25h", 422, "timeout_too_long", "step"],
  ["?since=yesterday", 400, "bad_request", "since"],
])("%s is refused", async (query, status, code, field) => {
  const refused = await read(query);
  expect([refused.status, refused.body.code, refused.body.context]).toEqual([
    status,
    code,
    expect.objectContaining({ field }) as object,
  ]);
});

test("a host of a version that measures none says so; of what is gone there is nothing", async () => {
  world.host.metrics.samples = undefined;
  const refused = await read();
  expect([refused.status, refused.body.code]).toEqual([503, "host_unavailable"]);
  world.host.metrics.samples = { items: [sample(0, 5)], damaged: 0 };
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  expect((await read()).body.items).toEqual([]);
});
