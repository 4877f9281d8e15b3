// The life of a machine on a fake host. Real ones are in the end-to-end tests.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Limits } from "@skerry/contract/limits/limits-report";
import type { Machine, MachineList } from "@skerry/contract/machines/machine";
import type { Status } from "@skerry/contract/platform/status";
import { setLimits } from "../src/limits/organization-limits.ts";
import { refused } from "./support/members.ts";
import { type Answer, useWorld } from "./support/world.ts";

const world = useWorld();
afterEach(async () => {
  world.host.failures.clear();
  world.host.beforeStart = async () => undefined;
  world.host.beforeStop = async () => undefined;
  world.host.memoryMib = 4096;
  await world.host.start().catch(() => undefined);
  await world.beat();
  await sql`delete from machines`.execute(world.db);
  await sql`delete from sandboxes`.execute(world.db);
  await sql`delete from organization_limits`.execute(world.db);
  world.host.vms.clear();
  world.host.disks.clear();
});

function act(id: string, what: string, token = world.token): Promise<Answer<Machine>> {
  return world.call<Machine>("POST", `/v1/machines/${id}/${what}`, { token });
}

async function get(id: string): Promise<Machine> {
  return (await world.call<Machine>("GET", `/v1/machines/${id}`)).body;
}

function set(id: string, values: string): Promise<unknown> {
  return sql`update machines set ${sql.raw(values)} where id = ${id}`.execute(world.db);
}

test("a machine runs when it is answered, with what was asked for and sensible defaults", async () => {
  const machine = await world.createMachine({
    name: "worker",
    command: "exec worker",
    env: { A: "1" },
    metadata: { job: "7" },
    stop_timeout: "30s",
    egress: { mode: "deny_all" },
  });
  expect(machine).toMatchObject({
    name: "worker",
    template: "base",
    size: "shared-cpu-1x",
    status: "running",
    desired: "running",
    command: "exec worker",
    restart: { policy: "on-failure", max_retries: 10, disk: "keep" },
    stop_timeout: "30s",
    restarts: 0,
    exit_code: null,
    stopped_at: null,
    destroyed_at: null,
    reason: null,
    restart_at: null,
  });
  expect(machine.id).toMatch(/^mch_/);
  expect(Date.parse(machine.started_at ?? "")).toBeGreaterThan(0);
  const { spec } = world.host.vms.get(machine.id) ?? {};
  expect(spec).toMatchObject({ machine: { command: "exec worker" }, env: { A: "1" } });
  expect(spec?.egress.mode).toBe("deny_all");
  const always = await world.createMachine({ restart: { policy: "always" } });
  expect(always.restart).toEqual({ policy: "always", max_retries: null, disk: "keep" });
  expect(world.host.vms.get(always.id)?.spec.machine).toEqual({ command: null, disk: "new" });
});

test("a machine that is stopped keeps its disk, gives its memory back, and starts from it as another incarnation", async () => {
  const { id } = await world.createMachine({ stop_timeout: "7s" });
  const first = world.host.vms.get(id)?.execution_id;
  const stopped = await act(id, "stop");
  expect([stopped.status, stopped.body.status, stopped.body.desired]).toEqual([200, "stopped", "stopped"]);
  expect(stopped.body).toMatchObject({ reason: "stopped by request", exit_code: 143 });
  expect(world.host.stops.at(-1)).toEqual({ execution_id: first, grace_ms: 7_000 });
  const limits = await world.call<Limits>("GET", "/v1/limits");
  expect(limits.body.quotas).toMatchObject({
    machines: { used: 1 },
    memory_mib: { used: 0 },
    vcpus: { used: 0 },
    disk_gib: { used: 1 },
  });
  expect((await act(id, "stop")).body).toEqual(stopped.body);
  const started = await act(id, "start");
  expect([started.status, started.body.status, started.body.reason]).toEqual([200, "running", null]);
  expect(world.host.disks.get(id)).toBe(first);
  expect(world.host.vms.get(id)?.execution_id).not.toBe(first);
  expect((await act(id, "start")).body).toEqual(started.body);
});

test("a restart stops and starts, and one of a stopped machine starts it", async () => {
  const { id } = await world.createMachine();
  const first = world.host.vms.get(id)?.execution_id;
  const again = await act(id, "restart");
  expect([again.status, again.body.status, again.body.restarts]).toEqual([200, "running", 0]);
  expect(world.host.vms.get(id)?.execution_id).not.toBe(first);
  await act(id, "stop");
  expect((await act(id, "restart")).body.status).toBe("running");
});

test("a machine is destroyed from every status, with its disk, and what is destroyed stays so", async () => {
  for (const prepare of [
    async () => undefined,
    (id: string) => act(id, "stop"),
    (id: string) => set(id, "status = 'failed', reason = 'broke'"),
    (id: string) => set(id, "status = 'starting'"),
    (id: string) => set(id, "status = 'stopping'"),
  ]) {
    const { id } = await world.createMachine();
    await prepare(id);
    expect((await world.call("DELETE", `/v1/machines/${id}`)).status).toBe(204);
    expect((await world.call("DELETE", `/v1/machines/${id}`)).status).toBe(204);
    expect((await get(id)).status).toBe("destroyed");
    expect([world.host.vms.has(id), world.host.disks.has(id)]).toEqual([false, false]);
    for (const what of ["start", "stop", "restart"]) {
      expect(refused(await world.call("POST", `/v1/machines/${id}/${what}`))).toEqual([
        409,
        "machine_destroyed",
      ]);
    }
    expect(refused(await world.call("GET", `/v1/machines/${id}/logs`))).toEqual([409, "machine_destroyed"]);
  }
});

test("a machine that could not be created has failed, says why and holds nothing", async () => {
  world.host.failures.set("start", new SkerryError("guest_failed", "The guest is broken."));
  const answer = await world.call("POST", "/v1/machines", { body: { template: "base" } });
  expect(refused(answer)).toEqual([502, "guest_failed"]);
  const { body } = await world.call<MachineList>("GET", "/v1/machines");
  expect(body.items).toMatchObject([
    { status: "failed", reason: "could not start: The guest is broken.", restart_at: null, started_at: null },
  ]);
  const limits = await world.call<Limits>("GET", "/v1/limits");
  expect(limits.body.quotas).toMatchObject({ machines: { used: 0 }, disk_gib: { used: 0 } });
  world.host.failures.clear();
  expect((await act(body.items[0]?.id ?? "", "start")).body.status).toBe("running");
});

test("a start for which its host has no room says so, and leaves the machine as it was", async () => {
  const { id } = await world.createMachine({ size: "shared-cpu-2x" });
  await act(id, "stop");
  world.host.memoryMib = 512;
  await world.beat();
  await world.createMachine();
  const answer = await act(id, "start");
  expect([answer.status, (answer.body as unknown as { message: string }).message]).toEqual([
    503,
    'There is no room for the size "shared-cpu-2x" now. The host that has its disk lacks memory.',
  ]);
  expect(await get(id)).toMatchObject({ status: "stopped", desired: "stopped" });
});

test("a start that the host fails leaves a failed machine with its disk, and its policy tries again", async () => {
  const { id } = await world.createMachine();
  await act(id, "stop");
  world.host.failures.set("start", new SkerryError("guest_timeout", "The guest did not answer."));
  expect(refused(await world.call("POST", `/v1/machines/${id}/start`))).toEqual([504, "guest_timeout"]);
  const failed = await get(id);
  expect(failed).toMatchObject({
    status: "failed",
    desired: "running",
    reason: "could not start: The guest did not answer.",
  });
  expect(Date.parse(failed.restart_at ?? "")).toBeGreaterThan(0);
  expect(world.host.disks.has(id)).toBe(true);
  expect(await act(id, "stop")).toMatchObject({ status: 200, body: { status: "stopped", restart_at: null } });
});

test("where the host does not confirm a stop, the wish is kept and the answer says that work goes on", async () => {
  const { id } = await world.createMachine();
  world.host.failures.set("stop", new SkerryError("host_unavailable", "The host is tired."));
  const answer = await act(id, "stop");
  expect([answer.status, answer.body.status, answer.body.desired]).toEqual([202, "stopping", "stopped"]);
  expect(await act(id, "restart")).toMatchObject({ status: 202, body: { desired: "running" } });
});

test("a stop that is wished for while the machine starts is not forgotten", async () => {
  const { id } = await world.createMachine();
  await act(id, "stop");
  world.host.beforeStart = async () => {
    const wished = await act(id, "stop");
    expect([wished.status, wished.body.status]).toEqual([202, "starting"]);
  };
  expect(await act(id, "start")).toMatchObject({
    status: 202,
    body: { status: "running", desired: "stopped" },
  });
});

test("a start that is wished for while the machine stops begins when it has", async () => {
  const { id } = await world.createMachine();
  world.host.beforeStop = async () => {
    world.host.beforeStop = async () => undefined;
    expect((await act(id, "start")).status).toBe(202);
  };
  const stop = await act(id, "stop");
  expect([stop.status, stop.body.status]).toEqual([202, "running"]);
});

test("a machine that is destroyed while it starts leaves nothing behind", async () => {
  world.host.beforeStart = async (id) => {
    await world.call("DELETE", `/v1/machines/${id}`);
  };
  const answer = await world.call("POST", "/v1/machines", { body: { template: "base" } });
  expect(refused(answer)).toEqual([409, "machine_destroyed"]);
  expect([world.host.vms.size, world.host.disks.size]).toEqual([0, 0]);
});

test("commands, files and egress rules reach into a machine that runs, and say so where it does not", async () => {
  const { id } = await world.createMachine();
  const at = `/v1/machines/${id}`;
  const run = await world.call("POST", `${at}/execute`, { body: { command: "hello" } });
  expect(run.body).toMatchObject({ exit_code: 0, stdout: "hello" });
  await world.call("PUT", `${at}/files/tmp/a%2541`, { body: "text" });
  expect((await world.call("GET", `${at}/files/tmp/a%2541`)).text).toBe("text");
  const egress = await world.call("PUT", `${at}/egress`, { body: { mode: "deny_all" } });
  expect(egress.body).toMatchObject({ mode: "deny_all" });
  expect((await get(id)).egress.mode).toBe("deny_all");
  await act(id, "stop");
  for (const [method, path, body] of [
    ["POST", "/execute", { command: "x" }],
    ["PUT", "/files/tmp/a", "x"],
    ["GET", "/files/tmp/a", undefined],
    ["PUT", "/egress", { mode: "allow_all" }],
  ] as const) {
    expect(refused(await world.call(method, at + path, { body }))).toEqual([409, "machine_not_running"]);
  }
  expect((await world.call("GET", `${at}/egress`)).body).toMatchObject({ mode: "deny_all", denied: [] });
  await act(id, "start");
  expect(world.host.vms.get(id)?.spec.egress.mode).toBe("deny_all");
});

test("a sandbox's id is no machine's, nor the other way round", async () => {
  const sandbox = await world.createSandbox();
  const machine = await world.createMachine();
  for (const path of ["", "/logs", "/egress"]) {
    expect(refused(await world.call("GET", `/v1/machines/${sandbox.id}${path}`))).toEqual([
      404,
      "machine_not_found",
    ]);
  }
  const run = { body: { command: "x" } };
  expect((await world.call("POST", `/v1/machines/${sandbox.id}/execute`, run)).body["code"]).toBe(
    "machine_not_found",
  );
  expect((await world.call("POST", `/v1/sandboxes/${machine.id}/execute`, run)).body["code"]).toBe(
    "sandbox_not_found",
  );
});

test("lists are filtered by status, template and labels, page by page", async () => {
  const a = await world.createMachine({ metadata: { job: "1" } });
  const b = await world.createMachine({ metadata: { job: "2" } });
  await act(a.id, "stop");
  const ids = async (query: string) =>
    (await world.call<MachineList>("GET", `/v1/machines?${query}`)).body.items.map(({ id }) => id);
  expect(await ids("")).toEqual([b.id, a.id]);
  expect(await ids("status=stopped")).toEqual([a.id]);
  expect(await ids("metadata.job=2&template=base")).toEqual([b.id]);
  expect(await ids("template=other")).toEqual([]);
  const page = await world.call<MachineList>("GET", "/v1/machines?limit=1");
  expect(await ids(`limit=1&cursor=${page.body.next_cursor}`)).toEqual([a.id]);
});

test("machines count in the status of the organization, and against its quotas together with sandboxes", async () => {
  await setLimits(world.db, world.orgId, [
    ["quota_machines", 1],
    ["quota_vcpus", 2],
  ]);
  const { id } = await world.createMachine();
  expect(refused(await world.call("POST", "/v1/machines", { body: { template: "base" } }))).toEqual([
    403,
    "quota_exceeded",
  ]);
  const sandbox = await world.createSandbox();
  const full = await world.call("POST", "/v1/sandboxes", { body: { template: "base" } });
  expect(full.body).toMatchObject({ code: "quota_exceeded", context: { quota: "vcpus", used: 2 } });
  await act(id, "stop");
  await world.createSandbox();
  expect(refused(await world.call("POST", `/v1/machines/${id}/start`))).toEqual([403, "quota_exceeded"]);
  expect((await world.call<Status>("GET", "/v1/status")).body.machines).toBe(1);
  const metrics = (await world.call("GET", "/metrics")).text;
  expect(metrics).toContain('skerry_vms{kind="machine",status="stopped"} 1');
  expect(metrics).toContain('skerry_queue_depth{queue="restart"} 0');
  await world.call("DELETE", `/v1/sandboxes/${sandbox.id}`);
  await act(id, "start");
});

test("the same Idempotency-Key makes one machine", async () => {
  const ask = () =>
    world.call<Machine>("POST", "/v1/machines", {
      body: { template: "base" },
      headers: { "idempotency-key": "one" },
    });
  const [first, second] = [await ask(), await ask()];
  expect([first.status, second.status, second.body.id]).toEqual([201, 201, first.body.id]);
  expect(second.headers.get("idempotent-replayed")).toBe("true");
});
