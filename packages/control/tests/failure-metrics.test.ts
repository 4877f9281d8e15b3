// Failures that an operator has to hear of are in the metrics, and in lists and the status that the dashboard
// reads.

import { sql } from "kysely";
import { expect, test } from "vitest";
import type { Vm } from "@skerry/contract/host-api/vm";
import type { MachineList } from "@skerry/contract/machines/machine";
import type { Me } from "@skerry/contract/organizations/organization";
import type { Status } from "@skerry/contract/platform/status";
import { noteBackup } from "../src/hosts/command-generation.ts";
import { setLimits } from "../src/limits/organization-limits.ts";
import { MetricsCollector } from "../src/platform/metrics-collector.ts";
import { usageSampler } from "../src/usage/usage-sampler.ts";
import packageJson from "../package.json" with { type: "json" };
import { activateBuilder, buildNow, newBuild } from "./support/builds.ts";
import { parseExposition, valueOf, type Exposition } from "./support/exposition.ts";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld({ buildCacheGib: 20 });
const PLAIN = "text/plain; version=0.0.4; charset=utf-8";

async function scraped(): Promise<Exposition> {
  return parseExposition(await new MetricsCollector(world.context).text("prometheus"), PLAIN);
}

/** Amounts that `work` adds to each of the series. */
async function added(
  series: readonly (readonly [name: string, labels?: Readonly<Record<string, string>>])[],
  work: () => Promise<unknown>,
): Promise<number[]> {
  const before = await scraped();
  await work();
  const after = await scraped();
  return series.map(([name, labels = {}]) => valueOf(after, name, labels) - valueOf(before, name, labels));
}

test("the version of the process is told", async () => {
  expect(valueOf(await scraped(), "skerry_build_info", { version: packageJson.version })).toBe(1);
});

test("requests with a bad token are counted apart from those that are too many", async () => {
  const refused = (code: string) => ["skerry_requests_refused_total", { code }] as const;
  const codes = ["unauthorized", "rate_limited", "too_many_streams", "sandbox_busy", "machine_busy"];
  const busy = await world.strangerToken();
  const { organization_id } = (await world.call<Me>("GET", "/v1/auth/me", { token: busy })).body;
  const counts = await added(codes.map(refused), async () => {
    await world.call("GET", "/v1/sizes", { token: "sk_wrong" });
    await world.call("GET", "/v1/sandboxes", { token: "sk_wrong" });
    await world.call("GET", "/v1/sandboxes/sbx_none");
    await setLimits(world.db, organization_id, [
      ["rate_write_burst", 1],
      ["rate_write_per_minute", 1],
    ]);
    for (let tries = 0; tries < 3; tries += 1)
      await world.call("DELETE", "/v1/sandboxes/sbx_none", { token: busy });
  });
  expect(counts).toEqual([2, 2, 0, 0, 0]);
});

test("a machine that ends again and again is in a crash loop until it has run for ten minutes", async () => {
  const upkeep = new MachineUpkeep(world);
  const steady = await world.createMachine({ name: "steady" });
  const { id } = await world.createMachine({ name: "loop", restart: { policy: "always" } });
  const end = async (how: Pick<Vm, "cause" | "exit">) => {
    world.host.end(id, null, how);
    await upkeep.cleanUp();
    await upkeep.allDue();
    await upkeep.startWaiting();
  };
  const exit = { cause: "main_exited", exit: { exit_code: 3, signal: 0, oom_killed: false } } as const;
  const looping = async (query = "") =>
    (await world.call<MachineList>("GET", `/v1/machines?crash_loop=true${query}`)).body;
  const series = [
    ["skerry_machine_ends_total", { cause: "main_exited" }],
    ["skerry_machine_ends_total", { cause: "out_of_memory" }],
    ["skerry_out_of_memory_total", { what: "machine" }],
    ["skerry_machine_restarts_total"],
    ["skerry_machines_in_crash_loop"],
  ] as const;
  const two = await added(series, async () => {
    await end(exit);
    await end({ cause: "out_of_memory", exit: { exit_code: 137, signal: 9, oom_killed: true } });
  });
  expect(two).toEqual([1, 1, 1, 2, 0]);
  expect((await looping()).items).toEqual([]);
  expect(await added(series, () => end(exit))).toEqual([1, 0, 0, 1, 1]);
  expect((await looping()).items.map(({ name }) => name)).toEqual(["loop"]);
  expect((await looping("&status=stopped")).items).toEqual([]);
  expect((await looping("&counts=true")).counts).toMatchObject({ running: 1, failed: 0 });
  const all = await world.call<MachineList>("GET", "/v1/machines?crash_loop=false");
  expect(all.body.items.map((one) => one.id)).toEqual([id, steady.id]);
  await sql`update machines set started_at = now() - interval '11 minutes' where id = ${id}`.execute(
    world.db,
  );
  expect((await looping()).items).toEqual([]);
  expect(valueOf(await scraped(), "skerry_machines_in_crash_loop")).toBe(0);
});

test("builds are counted by how they ended, with the time that they took, and those that wait are a queue", async () => {
  const ended = (outcome: string) => ["skerry_build_duration_seconds_count", { outcome }] as const;
  const series = [ended("ready"), ended("failed"), ended("canceled")];
  const counts = await added(series, async () => {
    const { id } = await newBuild(world, { name: "good", steps: [{ run: "make" }] });
    const broken = await newBuild(world, { name: "bad", steps: [{ run: "fail 3" }] });
    await activateBuilder(world);
    expect((await buildNow(world, id)).status).toBe("ready");
    expect((await buildNow(world, broken.id)).status).toBe("failed");
    // It was made of the same, and so it is answered at once.
    expect((await newBuild(world, { name: "good", steps: [{ run: "make" }] })).status).toBe("ready");
    const canceled = await newBuild(world, { name: "unwanted", steps: [{ run: "make" }] });
    await world.call("POST", `/v1/builds/${canceled.id}/cancel`);
    await world.call("POST", `/v1/builds/${canceled.id}/cancel`);
    await activateBuilder(world);
  });
  expect(counts).toEqual([2, 1, 1]);
  const wait = JSON.stringify({ kind: "place", id: null, name: null, text: "x", since: new Date() });
  const { id } = await newBuild(world, { name: "waits", steps: [{ run: "make" }] });
  await sql`update builds set waits_for = ${wait}::jsonb where id = ${id}`.execute(world.db);
  expect(valueOf(await scraped(), "skerry_queue_depth", { queue: "build" })).toBe(1);
  await world.call("POST", `/v1/builds/${id}/cancel`);
  expect(valueOf(await scraped(), "skerry_queue_depth", { queue: "build" })).toBe(0);
});

test("a packet that was denied is counted once, however often its host tells it", async () => {
  const { id } = await world.createSandbox();
  const sample = () => usageSampler(world.context, 1_000).activate(new AbortController().signal);
  const minute = Math.floor(Date.now() / 60_000) - 3;
  const denied = (packets: number) => async () => {
    world.host.metrics.denials = { items: [{ id, minute, packets }] };
    await sample();
    await sample();
  };
  const series = [["skerry_denied_packets_total"]] as const;
  expect(await added(series, denied(7))).toEqual([7]);
  expect(await added(series, denied(9))).toEqual([2]);
  expect(await added(series, denied(4))).toEqual([0]);
  world.host.metrics.denials = { items: [] };
});

test("templates are counted by status: images on each host, and versions of organizations", async () => {
  const templates = async (origin: string, status: string) =>
    valueOf(await scraped(), "skerry_templates", { origin, status });
  const { template } = world.host;
  const told = [template, { ...template, id: "tpl_2", name: "node", status: "failed" }];
  await sql`update hosts set templates = ${JSON.stringify(told)}::jsonb`.execute(world.db);
  expect([await templates("built_in", "ready"), await templates("built_in", "failed")]).toEqual([1, 1]);
  const own = await templates("own", "ready");
  await newBuild(world, { name: "another", steps: [{ run: "another" }] });
  await activateBuilder(world);
  expect(await templates("own", "ready")).toBe(own + 1);
  // A host may say anything.
  const odd = [{ ...template, status: "odd" }];
  await sql`update hosts set templates = ${JSON.stringify(odd)}::jsonb`.execute(world.db);
  expect([...(await scraped()).series.keys()].join("\n")).not.toContain("odd");
  await world.beat();
});

test("the last backup is known once there was one, to the operator alone", async () => {
  const last = async (token = world.token) =>
    (await world.call<Status>("GET", "/v1/status", { token })).body.last_backup;
  expect([...(await scraped()).series.keys()]).not.toContain("skerry_last_backup_timestamp_seconds");
  expect(await last()).toBeNull();
  const { last_backup_at: at } = await noteBackup(world.db);
  expect(valueOf(await scraped(), "skerry_last_backup_timestamp_seconds")).toBe(at.getTime() / 1_000);
  expect(await last()).toBe(at.toISOString());
  expect(await last(await world.strangerToken())).toBeNull();
});

test("the end of the certificate of a host is told where it has one", async () => {
  const name = "skerry_host_certificate_expiry_timestamp_seconds";
  expect([...(await scraped()).series.keys()].join("\n")).not.toContain(name);
  await sql`update hosts set certificate_expires_at = '2027-01-02T00:00:00Z'`.execute(world.db);
  const told = valueOf(await scraped(), name, { host: "fake" });
  expect(told).toBe(Date.parse("2027-01-02T00:00:00Z") / 1_000);
});
