// The process itself: settings, start, one log line per request, and a stop that loses nothing.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { sql } from "kysely";
import { expect, inject, test } from "vitest";
import { readConfig } from "../src/app/config.ts";
import type { ConfigError } from "../src/app/settings-reader.ts";
import { migrate, migrationCount } from "../src/db/migrations.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();

function start(command: string, environment: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, [inject("controlProgram"), ...command.split(" ")], {
    env: {
      PATH: process.env["PATH"],
      SKERRY_DATABASE_URL: world.databaseUrl,
      SKERRY_HOST_SOCKET: world.host.socketPath,
      SKERRY_LISTEN: "127.0.0.1:0",
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function output(child: ChildProcess): { text: string } {
  const collected = { text: "" };
  child.stdout?.on("data", (chunk: Buffer) => (collected.text += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (collected.text += chunk.toString()));
  return collected;
}

test("all wrong settings are named at once, without repeating a password", () => {
  const environment = {
    SKERRY_DATABASE_URL: "mysql://root:hunter2@db",
    SKERRY_LISTEN: "7070",
    SKERRY_HOST_SOCKET: "host.sock",
    SKERRY_LOG_LEVEL: "loud",
    SKERRY_REAPER_INTERVAL_MS: "0",
    SKERRY_QUOTA_SANDBOXES: "many",
    SKERRY_TRUSTED_PROXIES: "10.0.0.0/8, 10.0.0.1/33",
  };
  const faults = (() => {
    try {
      readConfig(environment);
      return [];
    } catch (error) {
      return (error as ConfigError).faults;
    }
  })();
  expect(faults.map((fault) => fault.split(" ")[0])).toEqual(Object.keys(environment));
  expect(faults.join()).not.toContain("hunter2");
});

test("the domain of ports is a domain, and its certificate stands beside that of the API", () => {
  const faultsOf = (environment: Readonly<Record<string, string>>): readonly string[] => {
    try {
      readConfig({ SKERRY_DATABASE_URL: "postgresql:///skerry", ...environment });
      return [];
    } catch (error) {
      return (error as ConfigError).faults;
    }
  };
  const SKERRY_SANDBOX_DOMAIN = "sandboxes.example.net";
  for (const domain of [
    "*.example.org",
    ".example.org",
    "Example.org",
    "a b",
    "-a.org",
    `${"a.".repeat(100)}a`,
  ])
    expect(faultsOf({ SKERRY_SANDBOX_DOMAIN: domain }), domain).toHaveLength(1);
  expect(faultsOf({ SKERRY_SANDBOX_DOMAIN })).toEqual([]);
  const own = { SKERRY_SANDBOX_TLS_CERT: "/c", SKERRY_SANDBOX_TLS_KEY: "/k" };
  const api = { SKERRY_TLS_CERT: "/a", SKERRY_TLS_KEY: "/b" };
  expect(faultsOf({ SKERRY_SANDBOX_DOMAIN, ...own, ...api })).toEqual([]);
  expect(faultsOf({ ...own, ...api })).toEqual(["SKERRY_SANDBOX_TLS_CERT needs SKERRY_SANDBOX_DOMAIN"]);
  expect(faultsOf({ SKERRY_SANDBOX_DOMAIN, ...own })).toEqual([
    "SKERRY_SANDBOX_TLS_CERT needs SKERRY_TLS_CERT, too",
  ]);
  expect(faultsOf({ SKERRY_SANDBOX_DOMAIN, SKERRY_SANDBOX_TLS_CERT: "/c", ...api })).toHaveLength(1);
});

test("the defaults are those of the documentation", () => {
  expect(readConfig({ SKERRY_DATABASE_URL: "postgresql:///skerry" })).toMatchObject({
    listen: { host: "127.0.0.1", port: 7070 },
    logLevel: "info",
    periods: {
      "host-heartbeat": 10_000,
      "host-health-monitor": 15_000,
      "vm-cleanup": 30_000,
      "sandbox-reaper": 10_000,
      sweeper: 600_000,
    },
    connectionsPerAddress: 512,
    trustedProxies: [],
    limits: {
      authFailuresPerMinute: 60,
      downloadsPerMinute: 120,
      vcpusPerCpu: 16,
      idempotencyWaitMs: 25_000,
      buildCacheGib: 20,
      buildCacheHostGib: 100,
      buildCacheStepMs: 1_000,
      metricsOrganizations: 0,
      organization: {
        rate_read_per_minute: 3_000,
        rate_write_per_minute: 1_800,
        rate_expensive_per_minute: 300,
        rate_expensive_burst: 150,
      },
    },
  });
});

test("a migration runs once, also when two processes start together, and a newer database is refused", async () => {
  await sql`drop schema public cascade`.execute(world.db);
  await sql`create schema public`.execute(world.db);
  const applied = await Promise.all([migrate(world.db), migrate(world.db)]);
  expect(applied).toHaveLength(2);
  expect(applied).toEqual(expect.arrayContaining([0, migrationCount]));
  await sql`insert into schema_migrations (number, name) values (999, 'future')`.execute(world.db);
  await expect(migrate(world.db)).rejects.toThrow("Start the newer version");
  await sql`delete from schema_migrations where number = 999`.execute(world.db);
});

test("a migration that comes late is applied, also to a database that has a later one", async () => {
  await sql`drop schema public cascade`.execute(world.db);
  await sql`create schema public`.execute(world.db);
  await sql`create table schema_migrations (number integer primary key, name text, applied_at timestamptz)`.execute(
    world.db,
  );
  await sql`insert into schema_migrations (number, name) values (48, 'stored-layers')`.execute(world.db);
  expect(await migrate(world.db)).toBe(migrationCount - 1);
  await sql`delete from schema_migrations where number = 48`.execute(world.db);
  expect(await migrate(world.db)).toBe(1);
  expect(await migrate(world.db)).toBe(0);
});

test("bootstrap prints one line of JSON with a token that works", async () => {
  const child = start("bootstrap --name up");
  const printed = output(child);
  expect(await once(child, "exit")).toEqual([0, null]);
  const { organization_id, token } = JSON.parse(printed.text) as { organization_id: string; token: string };
  expect(organization_id).toMatch(/^org_/);
  world.token = token;
  world.orgId = organization_id;
  expect((await world.call("GET", "/v1/sandboxes")).status).toBe(200);
});

test("a process that is told to stop finishes what is in flight, refuses what is new, and ends with 0", async () => {
  const child = start("serve", { SKERRY_HEARTBEAT_INTERVAL_MS: "200" });
  const log = output(child);
  await eventually(() => log.text.includes("Server listening"), "it listens");
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(log.text)?.[1]);
  await eventually(async () => {
    const { rows } = await sql`select 1 from hosts`.execute(world.db);
    return rows.length === 1;
  }, "the host is known");

  const hold = Promise.withResolvers<undefined>();
  const arrived = Promise.withResolvers<undefined>();
  world.host.beforeStart = async () => {
    arrived.resolve(undefined);
    await hold.promise;
  };
  const creation = fetch(`http://127.0.0.1:${port}/v1/sandboxes`, {
    method: "POST",
    headers: { authorization: `Bearer ${world.token}`, "content-type": "application/json" },
    body: JSON.stringify({ template: "base" }),
  });
  await arrived.promise;
  const half = connect(port, "127.0.0.1");
  const head = "GET /v1/health HTTP/1.1\r\nhost: x\r\n";
  let answers = "";
  half.on("data", (chunk: Buffer) => (answers += chunk.toString()));
  // Who has answered the first request has half of the second one, which came with it.
  half.write(`${head}\r\n${head}`);
  await eventually(() => answers.includes("200 OK"), "it answers the first request");

  child.kill("SIGTERM");
  await eventually(() => log.text.includes('"stopping"'), "it stops");
  half.write("\r\n");
  await eventually(() => answers.includes('"code":"shutting_down"'), "it refuses the second one");
  expect(answers).toContain("503 Service Unavailable");
  half.destroy();
  await expect(fetch(`http://127.0.0.1:${port}/v1/health`)).rejects.toThrow();

  hold.resolve(undefined);
  expect((await creation).status).toBe(201);
  expect(await once(child, "exit")).toEqual([0, null]);
  world.host.beforeStart = async () => undefined;
});

test("a process that cannot listen says which setting to change, gives everything back, and ends with 1", async () => {
  const taken = new URL(world.url).host;
  const child = start("serve", { SKERRY_LISTEN: taken });
  const said = output(child);
  try {
    expect(await once(child, "close", { signal: AbortSignal.timeout(60_000) })).toEqual([1, null]);
  } finally {
    child.kill("SIGKILL");
  }
  expect(said.text).toContain(`Cannot listen on ${taken}: the address is already in use.`);
  expect(said.text).toContain("SKERRY_LISTEN");
  expect(said.text).not.toContain("    at ");
});

test("a process that is told to serves metrics on an address of their own, and stops doing so when it ends", async () => {
  const child = start("serve", { SKERRY_METRICS_LISTEN: "127.0.0.1:0", SKERRY_HEARTBEAT_INTERVAL_MS: "200" });
  const said = output(child);
  await eventually(() => said.text.includes("metrics are served"), "it says so");
  const port = /"address":"127\.0\.0\.1","family":"IPv4","port":(\d+)\}.*metrics/.exec(said.text)?.[1];
  const url = `http://127.0.0.1:${port}/metrics`;
  await eventually(
    async () =>
      (await (await fetch(url)).text()).includes('skerry_background_runs_total{service="host-heartbeat"'),
    "its services are counted",
  );
  expect((await fetch(url.replace("/metrics", "/v1/health"))).status).toBe(404);
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
  await expect(fetch(url)).rejects.toThrow();
});

test("each request is one log line with method, path, status, duration and bytes, streams included", async () => {
  const { id } = await world.createSandbox();
  const answer = await world.call("GET", `/v1/sandboxes/${id}/files/endless/100000?list=false`);
  const path = `/v1/sandboxes/${id}/files/{path}`;
  await eventually(() => world.log.some((line) => line["path"] === path), "it is logged");
  const lines = world.log.filter((line) => line["request_id"] === answer.headers.get("x-request-id"));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ method: "GET", path, status: 200, bytes: 100_000, msg: "request" });
  expect(lines[0]).toMatchObject({ org_id: world.orgId, token_id: expect.stringMatching(/^tok_/) as string });
  expect(lines[0]?.["duration_ms"]).toBeTypeOf("number");
});

test("neither a token nor an environment, a command, its output or a file is ever in the log", async () => {
  const secret = "hunter2hunter2";
  const { id } = await world.createSandbox({ env: { PASSWORD: secret }, metadata: { label: secret } });
  const run = `/v1/sandboxes/${id}/execute`;
  await world.call("POST", run, { body: { command: secret, env: { KEY: secret } } });
  await world.call("POST", run, { body: { command: secret }, headers: { accept: "text/event-stream" } });
  await world.call("POST", run, { body: { command: `cut ${secret}` } });
  await world.call("POST", run, { body: { command: secret, env: { KEY: `${secret}\0` } } });
  await world.call("POST", run, { body: `{"command": "${secret}` });
  await world.call("PUT", `/v1/sandboxes/${id}/files/a`, { body: secret });
  await world.call("GET", `/v1/sandboxes?metadata.label=${secret}`);
  await world.call("GET", "/v1/sizes", { token: `sk_${secret}` });
  await world.host.stop();
  await world.call("POST", run, { body: { command: secret } });
  await world.call("POST", "/v1/sandboxes", { body: { template: "base", env: { PASSWORD: secret } } });
  await world.host.start();
  const lines = world.log.length;
  expect(lines).toBeGreaterThan(10);
  const text = JSON.stringify(world.log);
  expect(text).not.toContain(secret);
  expect(text).not.toContain(world.token);
});

test("an unexpected error is logged with its stack and shown without any", async () => {
  await sql`alter view sandboxes rename to hidden`.execute(world.db);
  const answer = await world.call("GET", "/v1/sandboxes");
  await sql`alter view hidden rename to sandboxes`.execute(world.db);
  expect([answer.status, answer.body["code"]]).toEqual([500, "internal"]);
  expect(answer.text).not.toContain("sandboxes");
  const logged = world.log.find((line) => line["msg"] === "a request failed unexpectedly");
  expect(JSON.stringify(logged)).toContain("sandboxes");
  expect(logged?.["request_id"]).toBe(answer.body["request_id"]);
});
