// Templates of snapshots: whose they may be, where they are built, and what holds in them.

import { afterEach, expect, test } from "vitest";
import { sql } from "kysely";
import { newId } from "@skerry/contract/ids";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import { activateBuilder, builtTemplate, buildNow, newBuild } from "./support/builds.ts";
import { Members } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld({ buildCacheGib: 20 });

afterEach(async () => {
  await sql`delete from builds`.execute(world.db);
});

async function newSnapshot(): Promise<string> {
  const sandbox = await world.createSandbox();
  const { status, body } = await world.call<Snapshot>("POST", `/v1/sandboxes/${sandbox.id}/snapshots`, {
    body: {},
  });
  expect(status).toBe(201);
  await world.call("DELETE", `/v1/sandboxes/${sandbox.id}`);
  return body.id;
}

test("a snapshot's disk is what the build stands on, also without steps", async () => {
  const snapshot = await newSnapshot();
  const targets: unknown[] = [];
  world.host.beforeStart = async () => {
    const { rows } = await sql<{ target: unknown }>`select target from builds`.execute(world.db);
    targets.push(...rows);
  };
  const { id } = await newBuild(world, { name: "kept", from: snapshot, steps: undefined });
  await activateBuilder(world);
  world.host.beforeStart = async () => undefined;
  const build = await buildNow(world, id);
  expect(build).toMatchObject({ status: "ready", error: null });
  expect(build.steps.map(({ kind }) => kind)).toEqual(["seal"]);
  expect(targets).toMatchObject([{ target: { on: { kind: "snapshot", snapshot_id: snapshot } } }]);
  // It stays when the snapshot goes.
  expect((await world.call("DELETE", `/v1/snapshots/${snapshot}`)).status).toBe(204);
  expect((await world.call("POST", "/v1/sandboxes", { body: { template: "kept" } })).status).toBe(201);
});

test("a build of the same on one snapshot is answered at once, and on another one it is carried out", async () => {
  const [one, other] = [await newSnapshot(), await newSnapshot()];
  const request = { name: "same", steps: [{ run: "true" }] };
  const first = await builtTemplate(world, { ...request, from: one });
  expect(await newBuild(world, { ...request, from: one })).toMatchObject({
    status: "ready",
    template_id: first.template_id,
  });
  const second = await builtTemplate(world, { ...request, from: other });
  expect(second.steps.map(({ cache_hit }) => cache_hit)).toEqual([false, false]);
  expect(second.template_id).not.toBe(first.template_id);
});

test("a snapshot of another organization is as unknown as one that is not there", async () => {
  const snapshot = await newSnapshot();
  const members = new Members(world);
  const { path } = await members.newOrganization();
  const token = (await members.newMember("owner", path)).secret;
  for (const from of [snapshot, newId("snapshot")]) {
    const answer = await world.call("POST", "/v1/templates", { token, body: { name: "stolen", from } });
    expect([answer.status, answer.body["code"]]).toEqual([422, "unknown_snapshot"]);
  }
  const { rows } = await sql`select 1 from builds`.execute(world.db);
  expect(rows).toEqual([]);
});
