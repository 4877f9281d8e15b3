// PATCH of a machine: what is changed at once, what waits for its next start, and what is refused.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Limits } from "@skerry/contract/limits/limits-report";
import type { Machine } from "@skerry/contract/machines/machine";
import type { VmEventList } from "@skerry/contract/vms/events";
import { setLimits } from "../src/limits/organization-limits.ts";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { refused } from "./support/members.ts";
import { eventually, useWorld, type Answer } from "./support/world.ts";

const world = useWorld();
afterEach(async () => {
  world.host.failures.clear();
  world.host.beforeStart = async () => undefined;
  world.host.beforeStop = async () => undefined;
  world.host.memoryMib = 4096;
  await world.host.start().catch(() => undefined);
  await world.beat();
  await sql`delete from machines`.execute(world.db);
  await sql`delete from organization_limits`.execute(world.db);
  world.host.vms.clear();
  world.host.disks.clear();
});

function update(id: string, body: object, token = world.token): Promise<Answer<Machine>> {
  return world.call<Machine>("PATCH", `/v1/machines/${id}`, { body, token });
}

function act(id: string, what: string): Promise<Answer<Machine>> {
  return world.call<Machine>("POST", `/v1/machines/${id}/${what}`);
}

async function get(id: string, token = world.token): Promise<Machine> {
  return (await world.call<Machine>("GET", `/v1/machines/${id}`, { token })).body;
}

function set(id: string, values: string): Promise<unknown> {
  return sql`update machines set ${sql.raw(values)} where id = ${id}`.execute(world.db);
}

const specOf = (id: string) => world.host.vms.get(id)?.spec;

test("name, labels, restart policy and stop timeout are changed at once, and what is left out stays", async () => {
  const { id } = await world.createMachine({
    name: "web",
    metadata: { a: "1", b: "2" },
    restart: { policy: "on-failure", max_retries: 3 },
  });
  const starts = world.host.vms.get(id)?.execution_id;
  const changed = await update(id, {
    name: "shop",
    metadata: { a: null, c: "3" },
    restart: { disk: "disposable" },
    stop_timeout: "30s",
  });
  expect(changed.status).toBe(200);
  expect(changed.body).toMatchObject({
    name: "shop",
    metadata: { b: "2", c: "3" },
    restart: { policy: "on-failure", max_retries: 3, disk: "disposable" },
    stop_timeout: "30s",
    pending: null,
    status: "running",
  });
  expect(changed.body.metadata).toEqual({ b: "2", c: "3" });
  expect(world.host.vms.get(id)?.execution_id).toBe(starts);
  expect((await world.call("GET", "/v1/machines/shop")).status).toBe(200);
  expect((await world.call("GET", "/v1/machines/web")).status).toBe(404);
  await act(id, "stop");
  expect(world.host.stops.at(-1)?.grace_ms).toBe(30_000);
});

test("another policy brings its own retries, and one without a name answers by its id alone", async () => {
  const { id } = await world.createMachine({ name: "web", restart: { max_retries: 3 } });
  const always = await update(id, { name: null, restart: { policy: "always" } });
  expect(always.body).toMatchObject({ name: null, restart: { policy: "always", max_retries: null } });
  expect((await world.call("GET", "/v1/machines/web")).status).toBe(404);
  expect((await update(id, { restart: { policy: "no" } })).body.restart).toMatchObject({ max_retries: null });
  expect(refused(await update(id, { restart: { max_retries: 2 } }))).toEqual([400, "bad_request"]);
});

test("environment, command and size wait for the next start, which takes them over", async () => {
  const { id } = await world.createMachine({ command: "exec one", env: { A: "1", B: "2" } });
  const changed = await update(id, {
    env: { A: "9", B: null },
    command: "exec two",
    size: "shared-cpu-2x",
  });
  expect(changed.status).toBe(200);
  const pending = { env: { A: "9" }, command: "exec two", size: "shared-cpu-2x" };
  expect(changed.body).toMatchObject({ command: "exec one", size: "shared-cpu-1x", pending });
  expect(changed.body.env).toEqual({ A: "1", B: "2" });
  expect(specOf(id)?.machine?.command).toBe("exec one");
  const restarted = await act(id, "restart");
  expect(restarted.body).toMatchObject({ command: "exec two", size: "shared-cpu-2x", pending: null });
  expect(restarted.body.env).toEqual({ A: "9" });
  expect(specOf(id)).toMatchObject({ size: "shared-cpu-2x", machine: { command: "exec two", disk: "kept" } });
  const { body } = await world.call<Limits>("GET", "/v1/limits");
  expect(body.quotas).toMatchObject({ vcpus: { used: 2 }, memory_mib: { used: 512 } });
});

test("restart_now restarts a machine once, and a second equal request changes nothing", async () => {
  const { id } = await world.createMachine({ env: { A: "1" } });
  const body = { env: { A: "2" }, restart_now: true };
  const first = await update(id, body);
  expect([first.status, first.body.status, first.body.pending]).toEqual([200, "running", null]);
  expect(specOf(id)?.env).toEqual({ A: "2" });
  const life = world.host.vms.get(id)?.execution_id;
  const second = await update(id, body);
  expect(second.body).toEqual(first.body);
  expect(world.host.vms.get(id)?.execution_id).toBe(life);
});

test("a change that is taken back waits no more", async () => {
  const { id } = await world.createMachine({ env: { A: "1" } });
  expect((await update(id, { env: { A: "2" } })).body.pending).toEqual({ env: { A: "2" } });
  expect((await update(id, { size: "shared-cpu-2x" })).body.pending).toEqual({
    env: { A: "2" },
    size: "shared-cpu-2x",
  });
  expect((await update(id, { env: { A: "1" }, size: "shared-cpu-1x" })).body.pending).toBeNull();
});

test("a stopped machine takes the change over when it is started, and restart_now leaves it stopped", async () => {
  const { id } = await world.createMachine({ command: "exec one" });
  await act(id, "stop");
  const changed = await update(id, { command: null, restart_now: true });
  expect([changed.status, changed.body.status]).toEqual([200, "stopped"]);
  expect(changed.body).toMatchObject({ command: "exec one", pending: { command: null } });
  expect((await act(id, "start")).body).toMatchObject({ command: null, pending: null });
  expect(specOf(id)?.machine?.command).toBeNull();
});

test("a start by the restart policy takes the change over too", async () => {
  const { id } = await world.createMachine({ command: "exec broken" });
  await update(id, { command: "exec mended" });
  await set(id, "status = 'failed', version = version + 1, reason = 'broke'");
  world.host.vms.delete(id);
  await sql`insert into restarts (machine_id, due_at) values (${id}, now())`.execute(world.db);
  await new MachineUpkeep(world).startWaiting();
  expect(await get(id)).toMatchObject({ status: "running", command: "exec mended", pending: null });
});

test("one that has failed and is meant to run is started anew with restart_now", async () => {
  const { id } = await world.createMachine({ command: "exec broken" });
  await set(id, "status = 'failed', version = version + 1, reason = 'gave up'");
  world.host.vms.delete(id);
  const mended = await update(id, { command: "exec mended", restart_now: true });
  expect([mended.status, mended.body.status, mended.body.command]).toEqual([200, "running", "exec mended"]);
});

test("a larger size that its host or its quota cannot hold is refused, and nothing changes", async () => {
  const { id } = await world.createMachine({ name: "web" });
  const tries = [
    ["performance-16x", 422, "size_too_large"],
    ["huge", 422, "unknown_size"],
  ] as const;
  for (const [size, status, code] of tries)
    expect(refused(await update(id, { size, name: "other", restart_now: true }))).toEqual([status, code]);
  world.host.memoryMib = 1024;
  await world.beat();
  await world.createMachine({ size: "shared-cpu-2x" });
  expect(refused(await update(id, { size: "shared-cpu-4x", name: "other" }))).toEqual([503, "no_capacity"]);
  await setLimits(world.db, world.orgId, [["quota_vcpus", 3]]);
  expect(refused(await update(id, { size: "shared-cpu-2x", name: "other" }))).toEqual([
    403,
    "quota_exceeded",
  ]);
  expect(await get(id)).toMatchObject({
    name: "web",
    size: "shared-cpu-1x",
    pending: null,
    status: "running",
  });
});

test("only the growth of a machine that runs has to find room, and a smaller size needs none", async () => {
  const { id } = await world.createMachine({ size: "shared-cpu-2x" });
  await setLimits(world.db, world.orgId, [["quota_vcpus", 4]]);
  expect((await update(id, { size: "shared-cpu-4x" })).status).toBe(200);
  await setLimits(world.db, world.orgId, [["quota_vcpus", 1]]);
  expect((await update(id, { size: "shared-cpu-1x" })).body.pending).toEqual({ size: "shared-cpu-1x" });
});

test("a restart that fails leaves the change and says why", async () => {
  const { id } = await world.createMachine({ command: "exec one" });
  world.host.failures.set("start", new SkerryError("guest_failed", "It does not boot."));
  const failed = await update(id, { command: "exec two", restart_now: true });
  expect(refused(failed)).toEqual([502, "guest_failed"]);
  const after = await get(id);
  expect(after).toMatchObject({ status: "failed", command: "exec two", pending: null });
  expect(after.reason).toContain("It does not boot.");
});

test("one that is being started or destroyed is not restarted, and what waits is kept", async () => {
  const { id } = await world.createMachine();
  await set(id, "status = 'starting', claimed_until = now() + interval '1 hour'");
  expect(refused(await update(id, { size: "shared-cpu-2x", restart_now: true }))).toEqual([
    429,
    "machine_busy",
  ]);
  expect((await get(id)).pending).toBeNull();
  expect((await update(id, { size: "shared-cpu-2x" })).body.pending).toEqual({ size: "shared-cpu-2x" });
  await set(id, "status = 'destroying'");
  expect(refused(await update(id, { name: "late" }))).toEqual([409, "machine_destroyed"]);
});

test("a change that comes while a machine is being started waits for the start after it", async () => {
  const { id } = await world.createMachine({ env: { A: "1" } });
  await update(id, { env: { A: "2" } });
  let during: Answer<Machine> | undefined;
  world.host.beforeStart = async () => {
    during ??= await update(id, { env: { A: "3" }, metadata: { x: "y" } });
  };
  const restarted = await act(id, "restart");
  expect(during?.status).toBe(200);
  expect(restarted.body).toMatchObject({ status: "running", pending: { env: { A: "3" } } });
  expect(specOf(id)?.env).toEqual({ A: "2" });
});

test("changes at the same time are all there afterwards", async () => {
  const { id } = await world.createMachine();
  const keys = ["a", "b", "c", "d"];
  const answers = await Promise.all(
    keys.map((key) => update(id, { metadata: { [key]: "1" }, env: { [key]: "1" } })),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const all = Object.fromEntries(keys.map((key) => [key, "1"]));
  expect(await get(id)).toMatchObject({ metadata: all, pending: { env: all } });
});

test("a rollback goes on with what its snapshot has in memory, and the change waits on", async () => {
  const { id } = await world.createMachine({ env: { A: "1" } });
  const { body: snapshot } = await world.call<{ id: string }>("POST", `/v1/machines/${id}/snapshots`, {
    body: {},
  });
  await update(id, { env: { A: "2" }, size: "shared-cpu-2x" });
  const back = await world.call<Machine>("POST", `/v1/machines/${id}/rollback`, {
    body: { snapshot: snapshot.id },
  });
  expect(back.body).toMatchObject({ status: "running", size: "shared-cpu-1x", pending: { env: { A: "2" } } });
  expect(specOf(id)).toMatchObject({ size: "shared-cpu-1x", env: { A: "1" } });
});

test("a start after a rollback that broke off goes on at the snapshot, in its size", async () => {
  const { id } = await world.createMachine();
  await act(id, "stop");
  await update(id, { size: "shared-cpu-2x" });
  await set(id, "rollback_to = 'snp_01kb3x7q9vt5c7r2m8n4p6w1yz'");
  expect((await act(id, "start")).body).toMatchObject({
    size: "shared-cpu-1x",
    pending: { size: "shared-cpu-2x" },
  });
});

test("a caller that may not execute can neither change what runs nor read what waits", async () => {
  const { id } = await world.createMachine({ env: { A: "1" } });
  await update(id, { env: { A: "hunter2" } });
  const minted = await world.call<{ token: string }>("POST", "/v1/auth/tokens", {
    body: { name: "writer", scopes: ["machines:read", "machines:write"] },
  });
  const writer = minted.body.token;
  for (const body of [{ env: { A: "2" } }, { command: "cat /etc/shadow" }])
    expect(refused(await update(id, body, writer))).toEqual([403, "forbidden"]);
  const renamed = await update(id, { name: "mine", size: "shared-cpu-2x" }, writer);
  expect(renamed.body.pending).toEqual({ env: { A: null }, size: "shared-cpu-2x" });
  expect(JSON.stringify(await get(id, writer))).not.toContain("hunter2");
});

test("values that wait are erased when the machine is destroyed", async () => {
  const { id } = await world.createMachine();
  await update(id, { env: { A: "hunter2" } });
  await world.call("DELETE", `/v1/machines/${id}`);
  const { rows } = await sql<{ row: string }>`
    select row_to_json(machines)::text as row from machines where id = ${id}`.execute(world.db);
  expect(rows[0]?.row).not.toContain("hunter2");
  expect((await get(id)).pending).toBeNull();
});

test.each<[string, object, number, string]>([
  ["a name that another machine has", { name: "taken" }, 409, "name_taken"],
  ["a name that looks like an id", { name: "mch_1" }, 400, "bad_request"],
  ["a broken environment", { env: { "A=B": "1" } }, 400, "invalid_env"],
  ["a value that is no text", { env: { A: 1 } }, 400, "invalid_env"],
  ["a command with NUL", { command: "a\0b" }, 400, "bad_request"],
  ["too long a grace", { stop_timeout: "6m" }, 422, "timeout_too_long"],
  ["a template", { template: "base" }, 400, "unknown_field"],
  [
    "a command too long with what is there",
    { command: "x".repeat(32_768), env: { A: "y".repeat(16_384), B: "z".repeat(16_384) } },
    400,
    "bad_request",
  ],
])("a change to %s is refused, and nothing changes", async (_, body, status, code) => {
  await world.createMachine({ name: "taken" });
  const { id } = await world.createMachine({ name: "web" });
  const before = await get(id);
  expect(refused(await update(id, { metadata: { a: "b" }, ...body }))).toEqual([status, code]);
  expect(await get(id)).toEqual(before);
});

test("the log of its life and the stream of changes tell a change, and not one that changes nothing", async () => {
  const { id } = await world.createMachine({ name: "web" });
  const { body: start } = await world.call<{ cursor: string }>("GET", "/v1/events?after=latest");
  await update(id, { name: "shop", env: { A: "1" } });
  await update(id, { name: "shop", env: { A: "1" } });
  const log = await world.call<VmEventList>("GET", `/v1/machines/${id}/events`);
  expect(log.body.items.filter(({ kind }) => kind === "updated").map(({ reason }) => reason)).toEqual([
    "name; at its next start: env",
  ]);
  // The stream tells what no transaction that is still open could come before.
  await eventually(async () => {
    const told = await world.call<{ items: readonly { id: string; resource: Machine }[] }>(
      "GET",
      `/v1/events?after=${encodeURIComponent(start.cursor)}&kind=machine`,
    );
    return told.body.items.some((item) => item.id === id && item.resource.name === "shop");
  }, "the change is told");
});
