// A host that is none any more: control asks it nothing, believes it nothing, and what it had is lost for good.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { heartbeat } from "../src/hosts/heartbeat.ts";
import { hostHealthMonitor } from "../src/hosts/host-health-monitor.ts";
import { vmCleanup } from "../src/platform/vm-cleanup.ts";
import { JoiningHost, newJoinToken } from "./support/joining-host.ts";
import { eventually, waitingForLocks, World } from "./support/world.ts";

const never = new AbortController().signal;

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world[Symbol.asyncDispose]());

async function joined(): Promise<{ host: JoiningHost; id: string }> {
  const host = await JoiningHost.open(world);
  const { body } = await host.confirm(await host.join(await newJoinToken(world)));
  return { host, id: body.host_id };
}

/** The host beside control gets nothing new, so that everything lands on the one that has joined. */
async function onlyJoined(): Promise<void> {
  await sql`update hosts set status = 'draining' where not joined`.execute(world.db);
}

const remove = (id: string, query = "") => world.call<{ code: string }>("DELETE", `/v1/hosts/${id}${query}`);

async function statusOf(id: string): Promise<unknown> {
  const { body } = await world.call("GET", `/v1/sandboxes/${id}`);
  return { status: body["status"], reason: body["reason"] };
}

test("a host with VMs is removed only by force; then they have failed, and can be destroyed", async () => {
  const { host, id } = await joined();
  await onlyJoined();
  const [kept, going] = [await world.createSandbox(), await world.createSandbox()];
  expect((await remove(id)).body.code).toBe("host_not_empty");
  host.fake.stuck.add(going.id);
  void world.call("DELETE", `/v1/sandboxes/${going.id}`);
  await eventually(() => host.fake.calls.includes(`DELETE /vms/${going.id}`), "its destruction has begun");
  expect((await remove(id, "?force=true")).status).toBe(204);
  expect(await statusOf(kept.id)).toMatchObject({ status: "failed" });
  await hostHealthMonitor(world.context, 1_000).activate(never);
  expect(await statusOf(going.id)).toMatchObject({ status: "destroyed" });
  expect((await world.call("DELETE", `/v1/sandboxes/${kept.id}`)).status).toBe(204);
  expect(await statusOf(kept.id)).toMatchObject({ status: "destroyed" });
});

test("a VM that comes to a host at the moment of its removal is not removed with it", async () => {
  const { id } = await joined();
  const sandbox = await world.createSandbox();
  let removal: ReturnType<typeof remove> | undefined;
  await world.db.transaction().execute(async (transaction) => {
    await sql`select 1 from hosts where id = ${id} for share`.execute(transaction);
    await sql`update sandboxes set host_id = ${id} where id = ${sandbox.id}`.execute(transaction);
    removal = remove(id);
    await eventually(async () => (await waitingForLocks(world.db)) > 0, "the removal waits");
  });
  expect((await removal)?.body.code).toBe("host_not_empty");
  expect(await statusOf(sandbox.id)).toMatchObject({ status: "running" });
});

test("whatever a removed host still has and says, it is not asked and nothing comes back", async () => {
  const { host, id } = await joined();
  await onlyJoined();
  const sandbox = await world.createSandbox();
  await world.call("POST", `/v1/sandboxes/${sandbox.id}/execute`, { body: { command: "true" } });
  await remove(id, "?force=true");
  const before = host.fake.calls.length;
  await heartbeat(world.context, { hostSocket: world.host.socketPath, everyMs: 1_000 }).activate(never);
  await vmCleanup(world.context, 1_000).activate(never);
  await world.call("POST", `/v1/sandboxes/${sandbox.id}/execute`, { body: { command: "true" } });
  expect(host.fake.calls.slice(before)).toEqual([]);
  expect(await statusOf(sandbox.id)).toMatchObject({ status: "failed" });
  expect((await world.call("POST", "/v1/sandboxes", { body: { template: "base" } })).status).toBe(503);
});

test("a command that runs on a host ends when the host is removed", async () => {
  const { host, id } = await joined();
  await onlyJoined();
  const sandbox = await world.createSandbox();
  const run = world.call("POST", `/v1/sandboxes/${sandbox.id}/execute`, {
    body: { command: "forever", timeout: "5m" },
  });
  await eventually(() => host.fake.commands.length === 1, "the command runs");
  await remove(id, "?force=true");
  expect((await run).status).toBeGreaterThanOrEqual(400);
});

test("its machine comes back only with another token, and as another host, which may have the name", async () => {
  const { host, id } = await joined();
  expect((await remove(id)).status).toBe(204);
  expect((await remove(id)).body.code).toBe("host_not_found");
  const again = await host.ask(await newJoinToken(world));
  expect(again.status, again.text).toBe(200);
  expect(again.body.host_id).not.toBe(id);
});

test("the host beside control is not removed, and strangers remove none", async () => {
  const { id } = await world.db.selectFrom("hosts").select("id").executeTakeFirstOrThrow();
  expect((await remove(id)).body.code).toBe("host_not_removable");
  const stranger = await world.strangerToken();
  const other = await joined();
  expect((await world.call("DELETE", `/v1/hosts/${other.id}`, { token: stranger })).status).toBe(403);
});
