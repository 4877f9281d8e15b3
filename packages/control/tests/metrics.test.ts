// What GET /metrics says is true, both formats are exact, and nothing that a client sends makes it grow.

import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import { runSchedule } from "../src/app/schedule.ts";
import { Wakeups } from "../src/background/wakeups.ts";
import { parseExposition, valueOf, type Exposition } from "./support/exposition.ts";
import { eventually, useWorld } from "./support/world.ts";
import { MetricsCollector } from "../src/platform/metrics-collector.ts";

const world = useWorld();
beforeAll(async () => {
  world.host.usage = {
    cpu_seconds: { user: 10.5, system: 2, idle: 100, iowait: 0.25, steal: 0 },
    memory_bytes: 8e9,
    memory_available_bytes: 5e9,
    disk_bytes: 1e12,
    disk_free_bytes: 4e11,
    network_received_bytes: 1e21,
    network_sent_bytes: 7,
    warm_pool: { waiting: 3, taken: 20, missed: 4 },
  };
  await world.beat();
});

async function scrape(accept = "text/plain"): Promise<Exposition> {
  const answer = await world.call("GET", "/metrics", { headers: { accept } });
  expect(answer.status).toBe(200);
  return parseExposition(answer.text, answer.headers.get("content-type") ?? "");
}

/** As the database is now: figures are read at most once a second. */
async function freshScrape(): Promise<Exposition> {
  return parseExposition(await new MetricsCollector(world.context).text("prometheus"), PLAIN);
}

const PLAIN = "text/plain; version=0.0.4; charset=utf-8";
const OPENMETRICS = "application/openmetrics-text; version=1.0.0";

test("both formats hold to their specifications and tell the same", async () => {
  const { id } = await world.createSandbox();
  await world.call("POST", `/v1/sandboxes/${id}/execute`, { body: { command: "true" } });
  const plain = await scrape();
  const open = await scrape(OPENMETRICS);
  expect(open.families.get("skerry_http_requests")?.type).toBe("counter");
  expect(plain.families.get("skerry_http_requests_total")?.type).toBe("counter");
  expect([...open.families.keys()]).toEqual(
    [...plain.families.keys()].map((name) => name.replace(/_total$/, "")),
  );
  // The second scrape has counted the first.
  const added = [...open.series.keys()].filter((key) => !plain.series.has(key));
  expect(added.every((key) => key.includes('path="/metrics"'))).toBe(true);
  expect([...plain.series.keys()].filter((key) => !open.series.has(key))).toEqual([]);
});

test("requests are counted by method, route pattern and status", async () => {
  const before = await scrape();
  const { id } = await world.createSandbox();
  await world.call("GET", `/v1/sandboxes/${id}`);
  await world.call("GET", `/v1/sandboxes/${id}?x=1`);
  await world.call("GET", "/v1/sandboxes/sbx_00000000000000000000000000");
  await world.call("PUT", `/v1/sandboxes/${id}/files/tmp/a`, { body: "x" });
  await world.call("GET", "/v1/sizes", { token: "sk_wrong" });
  const after = await scrape();
  const added = (method: string, path: string, status: string) => {
    const labels = { method, path, status };
    const counted = (name: string) => valueOf(after, name, labels) - valueOf(before, name, labels);
    expect(counted("skerry_http_request_duration_seconds_count")).toBe(counted("skerry_http_requests_total"));
    return counted("skerry_http_requests_total");
  };
  expect(added("POST", "/v1/sandboxes", "201")).toBe(1);
  expect(added("GET", "/v1/sandboxes/{id}", "200")).toBe(2);
  expect(added("GET", "/v1/sandboxes/{id}", "404")).toBe(1);
  expect(added("PUT", "/v1/sandboxes/{id}/files/{path}", "200")).toBe(1);
  expect(added("GET", "/v1/sizes", "401")).toBe(1);
  expect(valueOf(after, "skerry_http_requests_in_flight")).toBe(1);
});

test("a browser that loads the dashboard makes no requests of the API", async () => {
  for (const path of ["/ui", "/ui/", "/ui/sandboxes", "/ui/assets/main-0.js"]) await world.call("GET", path);
  const { series } = await scrape();
  expect([...series.keys()].filter((key) => key.includes('path="/ui'))).toEqual([]);
  expect(valueOf(await scrape(), "skerry_http_requests_in_flight")).toBe(1);
});

test("whatever a client sends, there are no new series: paths, methods and ids collapse", async () => {
  const port = (world.server.app.server.address() as AddressInfo).port;
  const attack = async (round: number) => {
    const odd = `${round}-${Math.random().toString(36).slice(2)}`;
    for (const path of [
      `/${odd}`,
      `/v1/${odd}`,
      `/v1/sandboxes/${odd}`,
      `/v1/sandboxes/${odd}/files/${odd}/x"y`,
      `/v1/sandboxes/${odd}/nothing`,
      `/v1/templates/${odd}`,
      `/metrics/${odd}`,
      `/v1/sandboxes?${odd}=1`,
      `/%${odd}`,
      `/v1/sandboxes/%zz${odd}`,
      `/${"x/".repeat(300)}${odd}`,
      `//${odd}`,
    ]) {
      await raw(port, `GET ${path} HTTP/1.1`);
      await raw(port, `PROPFIND ${path} HTTP/1.1`);
      await raw(port, `DELETE ${path} HTTP/1.1`);
    }
    // Node's parser refuses methods that it does not know; these it knows and we do not.
    for (const method of ["MKCOL", "UNSUBSCRIBE", "M-SEARCH", "QUERY", `X${round}`]) {
      await raw(port, `${method} /v1/sandboxes HTTP/1.1`);
    }
    await raw(port, "GET /v1/sandboxes HTTP/1.1", `authorization: Bearer sk_${odd}\r\nx-org-id: ${odd}\r\n`);
    await raw(port, "GET /v1/sandboxes HTTP/1.1", `x-request-id: ${odd}\r\nhost: ${odd}.example\r\n`);
  };
  const settled = async () => {
    await eventually(
      async () => valueOf(await scrape(), "skerry_http_requests_in_flight") === 1,
      "all have ended",
    );
    return [...(await scrape()).series.keys()];
  };
  await attack(1);
  await settled();
  const before = await settled();
  for (let round = 2; round < 6; round += 1) await attack(round);
  expect(await settled()).toEqual(before);
  const text = before.join("\n");
  expect(text).not.toMatch(/(sbx|org|tok|usr|req|hst)_[0-9a-z]{26}/);
  expect(text).toContain('method="other",path="unknown",status="404"');
  expect(text).not.toContain("example");
});

/** One request as it stands, to its answer's end. */
async function raw(port: number, line: string, headers = ""): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  const auth = headers.includes("authorization") ? "" : `authorization: Bearer ${world.token}\r\n`;
  const host = headers.includes("host:") ? "" : "host: x\r\n";
  socket.write(`${line}\r\n${host}${auth}${headers}connection: close\r\n\r\n`);
  socket.resume();
  await once(socket, "close");
}

test("sandboxes, hosts and queues are counted as the database has them", async () => {
  const { id } = await world.createSandbox();
  await sql`update sandboxes set status = 'destroyed' where id <> ${id}`.execute(world.db);
  await sql`update sandboxes set egress_applied = 0 where id = ${id}`.execute(world.db);
  await sql`
    insert into sandboxes (id, org_id, template, mode, size, vcpus, memory_mib, status, execution_id, host_id,
                           env, metadata, egress, timeout_ms, expires_at)
    select 'sbx_' || v.n, org_id, template, mode, size, 2, 512, v.state, execution_id, host_id,
           env, metadata, egress, timeout_ms, now() - interval '1 s'
    from sandboxes, (values (1, 'unreachable'), (2, 'destroying'), (3, 'destroying'), (4, 'failed')) as v (n, state)
    where id = ${id}`.execute(world.db);
  const found = await freshScrape();
  const vms = (status: string) => valueOf(found, "skerry_vms", { kind: "sandbox", status });
  expect(["running", "unreachable", "destroying", "failed", "creating"].map(vms)).toEqual([1, 1, 2, 1, 0]);
  expect(found.series.has('skerry_vms{kind="sandbox",status="destroyed"}')).toBe(false);
  const queue = (name: string) => valueOf(found, "skerry_queue_depth", { queue: name });
  expect(["destroy", "expire", "egress", "database"].map(queue)).toEqual([2, 2, 1, 0]);
  expect(valueOf(found, "skerry_host_vm_cpus_reserved", { host: "fake" })).toBe(1 + 2 + 2);
  expect(valueOf(found, "skerry_host_vm_memory_reserved_bytes", { host: "fake" })).toBe(
    (256 + 1024) * 1024 ** 2,
  );
  expect(valueOf(found, "skerry_hosts", { status: "online" })).toBe(1);
  await sql`delete from sandboxes where id like 'sbx__'`.execute(world.db);
});

test("a host tells its CPU, memory, disk and network; an older one that does not say is left out, a silent one is offline", async () => {
  const told = await freshScrape();
  const of = (name: string, labels = {}) => valueOf(told, name, { host: "fake", ...labels });
  expect(of("skerry_host_cpu_seconds_total", { mode: "user" })).toBe(10.5);
  expect(of("skerry_host_memory_available_bytes")).toBe(5e9);
  expect(of("skerry_host_disk_free_bytes")).toBe(4e11);
  expect(of("skerry_host_network_receive_bytes_total")).toBe(1e21);
  expect(of("skerry_host_warm_vms")).toBe(3);
  expect(of("skerry_host_warm_takes_total", { result: "missed" })).toBe(4);
  expect(Date.now() / 1_000 - of("skerry_host_last_heartbeat_timestamp_seconds")).toBeLessThan(3_600);
  const { usage } = world.host;
  world.host.usage = undefined;
  await world.beat();
  await sql`update hosts set last_heartbeat = now() - interval '31 s'`.execute(world.db);
  const untold = await freshScrape();
  expect(untold.series.has('skerry_host_disk_free_bytes{host="fake"}')).toBe(false);
  expect(valueOf(untold, "skerry_host_cpus", { host: "fake" })).toBe(2);
  const hosts = (status: string) => valueOf(untold, "skerry_hosts", { status });
  expect(["online", "offline", "draining", "maintenance"].map(hosts)).toEqual([0, 1, 0, 0]);
  world.host.usage = usage;
  await world.beat();
});

test("creations and commands are timed, those that fail apart, and what is ours of a command", async () => {
  const before = await scrape();
  const { id } = await world.createSandbox();
  const run = `/v1/sandboxes/${id}/execute`;
  await world.call("POST", run, { body: { command: "true" } });
  await world.call("POST", run, { body: { command: "true" }, headers: { accept: "text/event-stream" } });
  await world.host.stop();
  await world.call("POST", run, { body: { command: "true" } });
  await world.call("POST", "/v1/sandboxes", { body: { template: "base" } });
  await world.host.start();
  const after = await scrape();
  const added = (name: string, labels = {}) => valueOf(after, name, labels) - valueOf(before, name, labels);
  const create = "skerry_sandbox_create_duration_seconds_count";
  const execute = "skerry_execute_duration_seconds_count";
  expect([added(create, { outcome: "ok" }), added(create, { outcome: "error" })]).toEqual([1, 1]);
  expect([added(execute, { outcome: "ok" }), added(execute, { outcome: "error" })]).toEqual([2, 1]);
  expect(added("skerry_execute_overhead_seconds_count")).toBe(2);
});

test("each background service tells its runs, how long they took, what they did and when one last succeeded", async () => {
  const { id } = await world.createSandbox();
  await sql`update sandboxes set expires_at = now() where id = ${id}`.execute(world.db);
  // What it copies is not there.
  await sql`alter table template_copies rename to elsewhere`.execute(world.db);
  const stop = new AbortController();
  const every = 60_000;
  const schedule = runSchedule(
    world.context,
    {
      ...{ hostSocket: "/nonexistent", auditKeptDays: 365, pausedKeptDays: 30 },
      periods: {
        ...Object.fromEntries(world.context.serviceNames.map((name) => [name, every])),
        "usage-sampler": 600_000,
      },
    },
    { wakeups: new Wakeups(), stop: stop.signal },
  );
  const of = async (name: string, labels: Record<string, string>) => valueOf(await scrape(), name, labels);
  await eventually(
    async () =>
      (await of("skerry_background_items_total", { service: "sandbox-reaper", result: "changed" })) >= 1,
    "the reaper is counted",
  );
  await eventually(
    async () =>
      (await of("skerry_background_runs_total", { service: "template-spreader", outcome: "error" })) >= 1,
    "the spreader is counted as an error",
  );
  stop.abort();
  await schedule;
  const found = await scrape();
  const last = (name: string, service: string) => valueOf(found, name, { service });
  expect(last("skerry_background_run_duration_seconds_count", "sandbox-reaper")).toBeGreaterThan(0);
  expect(
    Date.now() / 1_000 - last("skerry_background_last_run_timestamp_seconds", "sandbox-reaper"),
  ).toBeLessThan(600);
  expect(last("skerry_background_last_run_timestamp_seconds", "template-spreader")).toBeGreaterThan(0);
  expect(last("skerry_background_last_success_timestamp_seconds", "template-spreader")).toBe(0);
});
