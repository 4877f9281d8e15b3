// PATCH of a sandbox.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import type { VmEventList } from "@skerry/contract/vms/events";
import { refused } from "./support/members.ts";
import { eventually, useWorld, type Answer } from "./support/world.ts";

const world = useWorld();
afterEach(async () => {
  await sql`delete from sandboxes`.execute(world.db);
  world.host.vms.clear();
});

function update(id: string, body: object): Promise<Answer<Sandbox>> {
  return world.call<Sandbox>("PATCH", `/v1/sandboxes/${id}`, { body });
}

test("name, labels, idle time and resuming are changed at once, and what is left out stays", async () => {
  const { id, expires_at } = await world.createSandbox({
    name: "desk",
    mode: "persistent",
    metadata: { a: "1", b: "2" },
    pause_after_idle: "10m",
  });
  const changed = await update(id, { name: "table", metadata: { a: null, c: "3" }, auto_resume: false });
  expect(changed.status).toBe(200);
  expect(changed.body).toMatchObject({
    ...{ name: "table", auto_resume: false, pause_after_idle: "10m", status: "running", expires_at },
  });
  expect(changed.body.metadata).toEqual({ b: "2", c: "3" });
  expect((await world.call("GET", "/v1/sandboxes/table")).status).toBe(200);
  expect((await world.call("GET", "/v1/sandboxes/desk")).status).toBe(404);
  const longer = await update(id, { pause_after_idle: "30m", name: null });
  expect(longer.body).toMatchObject({ pause_after_idle: "30m", name: null, auto_resume: false });
  expect((await update(id, { pause_after_idle: null })).body.pause_after_idle).toBeNull();
});

test("a paused sandbox stays paused, and calls into it then do what it says now", async () => {
  const { id } = await world.createSandbox({ mode: "persistent" });
  await world.call("POST", `/v1/sandboxes/${id}/pause`);
  const changed = await update(id, { auto_resume: false });
  expect([changed.status, changed.body.status]).toEqual([200, "paused"]);
  const execute = () => world.call("POST", `/v1/sandboxes/${id}/execute`, { body: { command: "true" } });
  expect(refused(await execute())).toEqual([409, "sandbox_not_running"]);
  await update(id, { auto_resume: true });
  expect((await execute()).status).toBe(200);
});

test("changes at the same time are all there afterwards", async () => {
  const { id } = await world.createSandbox();
  const bodies = [
    { metadata: { a: "1" } },
    { metadata: { b: "1" } },
    { name: "desk" },
    { auto_resume: false },
  ];
  const answers = await Promise.all(bodies.map((body) => update(id, body)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const { body } = await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`);
  expect(body).toMatchObject({ metadata: { a: "1", b: "1" }, name: "desk", auto_resume: false });
});

test.each<[string, object, number, string]>([
  ["a name that another sandbox has", { name: "taken" }, 409, "name_taken"],
  ["a name that looks like an id", { name: "sbx_1" }, 400, "bad_request"],
  ["an idle time that only a persistent one has", { pause_after_idle: "10m" }, 400, "bad_request"],
  ["a label that is no text", { metadata: { a: 1 } }, 400, "bad_request"],
  ["its timeout, which keepalive moves", { timeout: "10m" }, 400, "unknown_field"],
  ["its environment", { env: { A: "1" } }, 400, "unknown_field"],
])("a change to %s is refused, and nothing changes", async (_, body, status, code) => {
  await world.createSandbox({ name: "taken" });
  const { id } = await world.createSandbox({ name: "desk" });
  const before = (await world.call("GET", `/v1/sandboxes/${id}`)).body;
  expect(refused(await update(id, { auto_resume: false, ...body }))).toEqual([status, code]);
  expect((await world.call("GET", `/v1/sandboxes/${id}`)).body).toEqual(before);
});

test("an idle time out of bounds is refused, and so is a change of what is destroyed", async () => {
  const { id } = await world.createSandbox({ mode: "persistent" });
  expect(refused(await update(id, { pause_after_idle: "5s" }))).toEqual([400, "invalid_duration"]);
  expect(refused(await update(id, { pause_after_idle: "25h" }))).toEqual([422, "timeout_too_long"]);
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  expect(refused(await update(id, { name: "late" }))).toEqual([409, "sandbox_not_running"]);
});

test("the log of its life and the stream of changes tell a change, and not one that changes nothing", async () => {
  const { id } = await world.createSandbox({ name: "desk" });
  const { body: start } = await world.call<{ cursor: string }>("GET", "/v1/events?after=latest");
  await update(id, { name: "table", metadata: { a: "1" } });
  await update(id, { name: "table", metadata: { a: "1" } });
  const log = await world.call<VmEventList>("GET", `/v1/sandboxes/${id}/events`);
  expect(log.body.items.filter(({ kind }) => kind === "updated").map(({ reason }) => reason)).toEqual([
    "name, metadata",
  ]);
  // The stream tells what no transaction that is still open could come before.
  await eventually(async () => {
    const told = await world.call<{ items: readonly { id: string; resource: Sandbox }[] }>(
      "GET",
      `/v1/events?after=${encodeURIComponent(start.cursor)}&kind=sandbox`,
    );
    return told.body.items.some((item) => item.id === id && item.resource.name === "table");
  }, "the change is told");
});
