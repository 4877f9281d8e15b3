import { expect, test } from "vitest";
import { Host } from "@skerry/contract/hosts/host";
import { Machine } from "@skerry/contract/machines/machine";
import { exampleOf } from "@skerry/contract/named";
import { BackgroundService } from "@skerry/contract/platform/background-service";
import { needsOf, type Found } from "../src/overview/needs.ts";

const nowMs = Date.parse("2026-11-20T18:00:00.000Z");
const host: Host = { ...exampleOf(Host), waits_for: null };
const service: BackgroundService = {
  ...exampleOf(BackgroundService),
  due_at: new Date(nowMs + 5_000).toISOString(),
};
const well: Found = {
  hosts: [host, { ...host, status: "maintenance", waits_for: "it keeps files" }],
  machines: [],
  services: [service],
};
const told = (found: Partial<Found>) =>
  needsOf({ ...well, ...found }, nowMs).map(({ status, text, to }) => [status, text, to]);

test("what is well needs nobody, and neither does what its operator has put away or what drains", () => {
  expect(told({})).toEqual([]);
  expect(told({ hosts: [{ ...host, status: "draining", desired: "drained" }] })).toEqual([]);
});

test("hosts that are away, drains that wait and hosts that take nothing come first", () => {
  expect(
    told({
      hosts: [
        { ...host, status: "offline" },
        { ...host, status: "draining", waits_for: "sbx_1 has nowhere to go" },
        { ...host, waits_for: "what it came back with is not all in its place yet" },
      ],
      machines: [
        { ...exampleOf(Machine), id: "mch_1", status: "failed", reason: "out of memory", restarts: 10 },
      ],
    }),
  ).toEqual([
    ["offline", "not heard of", "/hosts?status=offline"],
    ["draining", "sbx_1 has nowhere to go", "/hosts?status=draining"],
    ["online", "what it came back with is not all in its place yet", "/hosts?status=online"],
    ["failed", "out of memory, after 10 restarts", "/machines/mch_1"],
  ]);
});

test("a service that broke off, is late or could not do all is told, one that runs is not", () => {
  const late: BackgroundService = { ...service, due_at: new Date(nowMs - 61_000).toISOString() };
  const run = {
    ended_at: service.due_at ?? "",
    duration_ms: 1,
    examined: 3,
    changed: 0,
    failed: 0,
    outcome: "success",
  } as const;
  const statuses = (services: readonly BackgroundService[]) => told({ services }).map(([status]) => status);
  expect(statuses([late, { ...late, status: "running" }])).toEqual(["late"]);
  expect(statuses([{ ...service, last_run: { ...run, outcome: "failure" } }])).toEqual(["failed"]);
  expect(statuses([{ ...service, last_run: { ...run, failed: 1 } }])).toEqual(["incomplete"]);
});
