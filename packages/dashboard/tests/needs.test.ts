import { expect, test } from "vitest";
import { Build } from "@skerry/contract/builds/build";
import { Host } from "@skerry/contract/hosts/host";
import { Machine } from "@skerry/contract/machines/machine";
import { exampleOf } from "@skerry/contract/named";
import { BackgroundService } from "@skerry/contract/platform/background-service";
import { Template } from "@skerry/contract/templates/template";
import { needsOf, type Found } from "../src/overview/needs.ts";

const nowMs = Date.parse("2026-11-20T18:00:00.000Z");
const host: Host = { ...exampleOf(Host), waits_for: null };
const service: BackgroundService = {
  ...exampleOf(BackgroundService),
  due_at: new Date(nowMs + 5_000).toISOString(),
};
const well: Found = {
  hosts: [host, { ...host, status: "maintenance", waits_for: "it keeps files" }],
  ...{ machines: [], looping: [], unhealthy: [], builds: [], lastBackup: null },
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

test("a machine in a crash loop is told once, with the end of its last run", () => {
  const loop = { ...exampleOf(Machine), id: "mch_1", status: "starting", reason: null, restarts: 5 } as const;
  const failed = { ...loop, id: "mch_2", status: "failed", reason: "it exited with 3" } as const;
  expect(told({ machines: [failed], looping: [loop, failed] })).toEqual([
    ["starting", "it ends again and again, after 5 restarts", "/machines/mch_1"],
    ["failed", "it exited with 3, after 5 restarts", "/machines/mch_2"],
  ]);
});

test("a machine whose health check fails is told with the reason, and once where it is in a crash loop too", () => {
  const health = { ...exampleOf(Machine).health, status: "failing", reason: "HTTP 503" } as Machine["health"];
  const failing: Machine = { ...exampleOf(Machine), id: "mch_1", restarts: 0, health };
  expect(told({ unhealthy: [failing] })).toEqual([
    ["failing", "its health check fails: HTTP 503", "/machines/mch_1"],
  ]);
  expect(told({ looping: [failing], unhealthy: [failing] })).toHaveLength(1);
});

test("a build that failed within a day is told, unless one of the same name and tag was ready since", () => {
  const at = (agoS: number) => new Date(nowMs - agoS * 1_000).toISOString();
  const build = { ...exampleOf(Build), pushed: null };
  const failed = (id: string, name: string, agoS: number): Build => ({
    ...{ ...build, id, name, status: "failed", finished_at: at(agoS) },
    error: { code: "build_step_failed", message: `${id} failed`, step: 0, exit_code: 1, last_lines: [] },
  });
  const others = { ...build, name: "mended", finished_at: at(5) };
  const builds: readonly Build[] = [
    failed("bld_7", "twice", 10),
    failed("bld_6", "twice", 20),
    { ...others, id: "bld_5", status: "ready" },
    { ...others, id: "bld_4", name: "given-up", status: "canceled" },
    { ...others, id: "bld_3", name: "waits", status: "queued", finished_at: null },
    failed("bld_2", "mended", 60),
    failed("bld_1", "given-up", 70),
    failed("bld_0", "old", 90_000),
  ];
  expect(told({ builds })).toEqual([
    ["failed", "bld_7 failed", "/builds/bld_7"],
    ["failed", "bld_1 failed", "/builds/bld_1"],
  ]);
});

test("an image that hosts cannot make is told once, also while they try again, and a full disk of each", () => {
  const failure = {
    ...{ reason: "no mirror answers", last_lines: [], failed_at: "2026-11-20T17:00:00.000Z" },
    next_attempt: null,
  };
  const [template = exampleOf(Template)] = host.templates;
  const node = { ...template, name: "node", failure } as const;
  const usage = {
    cpu_seconds: { user: 0, system: 0, idle: 0, iowait: 0, steal: 0 },
    ...{ memory_bytes: 1, memory_available_bytes: 1, disk_bytes: 1_000, disk_free_bytes: 100 },
    ...{ network_received_bytes: 0, network_sent_bytes: 0, warm_pool: { waiting: 0, taken: 0, missed: 0 } },
  };
  const hosts: readonly Host[] = [
    { ...host, usage, templates: [template, { ...node, status: "failed" }] },
    {
      ...host,
      name: "rack-2",
      usage: { ...usage, disk_free_bytes: 99 },
      templates: [{ ...node, status: "building" }],
    },
  ];
  expect(told({ hosts })).toEqual([
    ["online", "9 % of its disk is free", "/hosts?status=online"],
    ["failed", "its image could not be made on rack-1 and 1 more: no mirror answers", "/templates/node"],
  ]);
});

test("a backup is missed once the last one is older than a day and an hour, and not where there never was one", () => {
  const lastBackup = (agoH: number) => new Date(nowMs - agoH * 3_600_000).toISOString();
  expect(told({ lastBackup: lastBackup(24.9) })).toEqual([]);
  expect(told({ lastBackup: lastBackup(50) })).toEqual([["late", "the last one is 2 d 2 h old", null]]);
});
