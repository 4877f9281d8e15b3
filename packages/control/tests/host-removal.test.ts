// A host that is none any more: control asks it nothing, believes it nothing, and what it had is lost for good.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Host } from "@skerry/contract/hosts/host";
import { heartbeat } from "../src/hosts/heartbeat.ts";
import { hostHealthMonitor } from "../src/hosts/host-health-monitor.ts";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import { builtTemplate } from "./support/builds.ts";
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
  const destruction = world.call("DELETE", `/v1/sandboxes/${going.id}`);
  await eventually(() => host.fake.calls.includes(`DELETE /vms/${going.id}`), "its destruction has begun");
  expect((await remove(id, "?force=true")).status).toBe(204);
  expect(await statusOf(kept.id)).toMatchObject({ status: "failed" });
  await hostHealthMonitor(world.context, 1_000).activate(never);
  expect(await statusOf(going.id)).toMatchObject({ status: "destroyed" });
  expect((await world.call("DELETE", `/v1/sandboxes/${kept.id}`)).status).toBe(204);
  expect(await statusOf(kept.id)).toMatchObject({ status: "destroyed" });
  expect((await destruction).status).toBe(204);
});

test("a host with the only copy of a template says so and is removed only by force; then the template is lost", async () => {
  const templateId = String((await builtTemplate(world)).template_id);
  const { id } = await joined();
  await sql`update template_hosts set host_id = ${id}`.execute(world.db);
  const seen = () => world.call<Host>("GET", `/v1/hosts/${id}`);
  expect((await seen()).body.waits_for).toBeNull();
  expect((await world.call<Host>("POST", `/v1/hosts/${id}/drain`)).body).toMatchObject({
    status: "draining",
    waits_for: expect.stringMatching(/^1 template that no other host has is on it/) as string,
  });
  const refused = await remove(id);
  expect([refused.status, refused.body.code]).toEqual([409, "host_not_empty"]);
  expect(refused.body).toMatchObject({
    context: { vms: 0, templates: 1 },
    remediation: expect.stringMatching(/^Drain it first, by which they go to other hosts/) as string,
  });
  expect((await remove(id, "?force=true")).status).toBe(204);
  for (const template of ["web", templateId])
    for (const path of ["/v1/sandboxes", "/v1/machines"]) {
      const answer = await world.call("POST", path, { body: { template } });
      expect([answer.status, answer.body["code"]]).toEqual([409, "template_lost"]);
      expect(answer.body["remediation"]).toBe("Build the template again.");
    }
  const { rows } = await sql`select 1 from template_hosts where host_id = ${id}`.execute(world.db);
  expect(rows).toEqual([]);
  // No host has to confirm its end.
  expect((await world.call("DELETE", `/v1/templates/${templateId}`)).status).toBe(204);
});

test("a host whose templates others have too, or that are deleted, is removed without force", async () => {
  const build = await builtTemplate(world);
  const { id } = await joined();
  await sql`insert into template_hosts values (${String(build.template_id)}, ${id})`.execute(world.db);
  expect((await remove(id)).status).toBe(204);
  expect((await world.call("POST", "/v1/sandboxes", { body: { template: "web" } })).status).toBe(201);
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
  await vmReconciler(world.context, 1_000).activate(never);
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
