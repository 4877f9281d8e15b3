// Health checks of machines: what is asked for, what their hosts are told, and what their states come to.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Machine } from "@skerry/contract/machines/machine";
import type { MachineEndList } from "@skerry/contract/machines/machine-end";
import type { MachineStatus } from "@skerry/contract/machines/machine-status";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { refused } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const upkeep = () => new MachineUpkeep(world);
afterEach(async () => {
  world.host.checks.known = true;
  world.host.checks.forget();
  world.host.stops.length = 0;
  world.host.failures.clear();
  world.host.beforeStop = async () => undefined;
  await sql`delete from machines`.execute(world.db);
  world.host.vms.clear();
  world.host.disks.clear();
});

const http = { path: "/health", port: 8080 };
const told = (id: string) => world.host.checks.told.get(id);

async function update(id: string, check: object | null): Promise<Machine> {
  const { status, body, text } = await world.call<Machine>("PATCH", `/v1/machines/${id}`, {
    body: { check },
  });
  expect(status, text).toBe(200);
  return body;
}

/** Runs the cleanup after which the row has what the host found. */
async function found(id: string, ...how: Parameters<typeof world.host.checks.find>[2][]): Promise<Machine> {
  for (const one of how) world.host.checks.find(world.host, id, one);
  await upkeep().cleanUp();
  return upkeep().get(id);
}

test("a machine is created with a check, and its host is told of it with every default filled in", async () => {
  const { id } = await world.createMachine({ check: http });
  expect(told(id)).toMatchObject({
    version: 1,
    check: { http, interval_ms: 10_000, timeout_ms: 5_000, failures: 3, grace_ms: 30_000 },
  });
  expect((await upkeep().get(id)).check).toEqual({
    ...http,
    ...{ interval: "10s", timeout: "5s", failures: 3, grace: "30s", restart: false },
  });
});

test("a machine without a check has no health, and its host is asked for none", async () => {
  const { id } = await world.createMachine();
  const calls = world.host.calls.length;
  await upkeep().cleanUp();
  expect(await upkeep().get(id)).toMatchObject({ check: null, health: null });
  expect(world.host.calls.slice(calls).filter((call) => call.includes("check"))).toEqual([]);
});

test("a change of state on the host is told by its heartbeat and shown", async () => {
  const { id } = await world.createMachine({ check: http });
  expect((await upkeep().get(id)).health).toMatchObject({ status: "unknown", last_checked_at: null });
  const since = "2026-01-01T00:00:09.000Z";
  const failing = await found(id, { status: "failing", reason: "HTTP 503", since, last_checked_at: since });
  expect(failing).toMatchObject({
    status: "running",
    restarts: 0,
    health: { status: "failing", reason: "HTTP 503", since, last_checked_at: since },
  });
  expect((await found(id, { status: "passing" })).health).toMatchObject({ status: "passing", reason: null });
});

test("a check is replaced and removed by PATCH, and a state of the check before counts no more", async () => {
  const { id } = await world.createMachine({ check: http });
  await found(id, { status: "failing", reason: "HTTP 503" });
  const changed = await update(id, { command: "test -e /ready", interval: "1s" });
  expect(changed.check).toMatchObject({ command: "test -e /ready", interval: "1s", failures: 3 });
  expect(changed.check).not.toHaveProperty("path");
  expect(changed.health).toMatchObject({ status: "unknown" });
  expect(told(id)).toMatchObject({ version: 2, check: { command: "test -e /ready", interval_ms: 1_000 } });
  expect(await update(id, null)).toMatchObject({ check: null, health: null });
  expect(told(id)).toMatchObject({ version: 3 });
  expect(told(id)).not.toHaveProperty("check");
});

test("a host process that was restarted, and one that did not hear of a change, are told again", async () => {
  const { id } = await world.createMachine({ check: http });
  world.host.checks.forget();
  await upkeep().cleanUp();
  expect(told(id)).toMatchObject({ version: 1, check: { http } });
  await world.host.stop();
  await update(id, { port: 5432 });
  await world.host.start();
  await upkeep().cleanUp();
  expect(told(id)).toMatchObject({ version: 2, check: { tcp: { port: 5432 } } });
  const { check } = (await world.call<Machine>("GET", `/v1/machines/${id}`)).body;
  expect(check).toMatchObject({ port: 5432 });
});

test("a removal that did not reach the host is brought to it", async () => {
  const { id } = await world.createMachine({ check: http });
  await world.host.stop();
  await update(id, null);
  await world.host.start();
  await upkeep().cleanUp();
  expect(told(id)).toMatchObject({ version: 2 });
  expect(told(id)).not.toHaveProperty("check");
});

test("on a host of a version without checks the health is unknown, and says why", async () => {
  world.host.checks.known = false;
  const { id } = await world.createMachine({ check: http });
  await upkeep().cleanUp();
  const { health, status } = await upkeep().get(id);
  expect(status).toBe("running");
  expect(health?.status).toBe("unknown");
  expect(health?.reason).toContain("knows no health checks");
  world.host.checks.known = true;
  await upkeep().cleanUp();
  expect((await found(id, { status: "passing" })).health).toMatchObject({ status: "passing" });
});

test("a failing check restarts nothing unless it is asked to", async () => {
  const { id } = await world.createMachine({ check: http, restart: { policy: "always" } });
  const execution = world.host.vms.get(id)?.execution_id;
  await found(id, { status: "failing", reason: "HTTP 503" });
  expect(world.host.vms.get(id)).toMatchObject({ status: "running", execution_id: execution });
  expect(world.host.stops).toEqual([]);
});

test("with `restart` a failing check is a failed run: it is stopped, noted, and started again by its policy", async () => {
  const { id } = await world.createMachine({
    check: { ...http, restart: true },
    stop_timeout: "7s",
    restart: { policy: "on-failure", max_retries: 1 },
  });
  const ended = await found(id, { status: "failing", reason: "HTTP 503" });
  expect(ended).toMatchObject({ status: "failed", reason: "its health check failed: HTTP 503" });
  expect(ended.restart_at).not.toBeNull();
  expect(world.host.stops.at(-1)).toMatchObject({ grace_ms: 7_000 });
  const ends = await world.call<MachineEndList>("GET", `/v1/machines/${id}/restarts`);
  expect(ends.body.items).toMatchObject([{ cause: "check_failed", exit_code: null }]);
  await upkeep().allDue();
  await upkeep().startWaiting();
  // The new run has the check again, and nothing of the state before.
  expect(await upkeep().get(id)).toMatchObject({
    status: "running",
    restarts: 1,
    health: { status: "unknown" },
  });
  expect(told(id)?.execution_id).toBe(world.host.vms.get(id)?.execution_id);
  const given = await found(id, { status: "failing", reason: "HTTP 503" });
  expect(given.status).toBe("failed");
  expect(given.reason).toContain("it is not started again");
});

test("with the policy `no` a failing check stops nothing", async () => {
  const { id } = await world.createMachine({ check: { ...http, restart: true }, restart: { policy: "no" } });
  expect(await found(id, { status: "failing", reason: "HTTP 503" })).toMatchObject({
    status: "running",
    health: { status: "failing" },
  });
});

test("a state of an earlier incarnation or check neither shows nor restarts", async () => {
  const { id } = await world.createMachine({ check: { ...http, restart: true } });
  const old = { status: "failing", reason: "HTTP 503" } as const;
  expect(await found(id, { ...old, execution_id: "exe_before" })).toMatchObject({
    status: "running",
    health: { status: "unknown" },
  });
  expect(await found(id, { ...old, version: 7 })).toMatchObject({ status: "running" });
});

test("a machine that its owner stops is not restarted by its check, and says that it is not checked", async () => {
  const { id } = await world.createMachine({ check: { ...http, restart: true } });
  await world.call("POST", `/v1/machines/${id}/stop`);
  world.host.checks.find(world.host, id, { status: "failing", reason: "HTTP 503" });
  await upkeep().cleanUp();
  const { status, restart_at, health } = await upkeep().get(id);
  expect({ status, restart_at }).toEqual({ status: "stopped" satisfies MachineStatus, restart_at: null });
  expect(health).toMatchObject({ status: "unknown", reason: "the machine is stopped" });
});

test.each([
  [{}, "bad_request"],
  [{ path: "/health" }, "bad_request"],
  [{ ...http, command: "true" }, "bad_request"],
  [{ path: "health", port: 80 }, "bad_request"],
  [{ path: "/a b", port: 80 }, "bad_request"],
  [{ path: "/\r\nHost: elsewhere", port: 80 }, "bad_request"],
  [{ path: "/é", port: 80 }, "bad_request"],
  [{ path: "/", port: 0 }, "bad_request"],
  [{ command: "true\0" }, "bad_request"],
  [{ ...http, interval: "10ms" }, "invalid_duration"],
  [{ ...http, interval: "2h" }, "timeout_too_long"],
  [{ ...http, timeout: "2m" }, "timeout_too_long"],
  [{ ...http, grace: "2h" }, "timeout_too_long"],
  [{ ...http, failures: 0 }, "bad_request"],
])("the check %j is refused", async (check, code) => {
  const body = { template: "base", check };
  const [, told] = refused(await world.call("POST", "/v1/machines", { body }));
  expect(told).toBe(code);
});
