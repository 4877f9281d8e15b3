import { sql } from "kysely";
import { expect, test } from "vitest";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { useWorld } from "./support/world.ts";

const world = useWorld();

interface Failure {
  readonly code: string;
  readonly remediation: string;
}

test("one that is not resumed by calls stays paused until it is asked for, and says how", async () => {
  const { id } = await world.createSandbox({ mode: "persistent", auto_resume: false });
  const path = `/v1/sandboxes/${id}`;
  const sandbox = async () => (await world.call<Sandbox>("GET", path)).body;
  const execute = () => world.call<Failure>("POST", `${path}/execute`, { body: { command: "true" } });
  expect(await sandbox()).toMatchObject({ status: "running", auto_resume: false });
  await world.call("POST", `${path}/pause`);
  const { status, body } = await execute();
  expect([status, body.code, body.remediation]).toEqual([
    ...[409, "sandbox_not_running", "Resume the sandbox first."],
  ]);
  expect((await sandbox()).status).toBe("paused");
  expect((await world.call("POST", `${path}/resume`)).status).toBe(200);
  expect((await execute()).status).toBe(200);
});

test("the time of one that is not resumed by calls is over before the reaper has come", async () => {
  const { id } = await world.createSandbox({ mode: "persistent", auto_resume: false });
  await sql`update sandboxes set expires_at = now() - interval '1 second' where id = ${id}`.execute(world.db);
  world.context.vmLocations.forget(id);
  const execute = () =>
    world.call<Failure>("POST", `/v1/sandboxes/${id}/execute`, { body: { command: "true" } });
  const { status, body } = await execute();
  expect([status, body.code, body.remediation]).toEqual([
    ...[409, "sandbox_expired", "Resume the sandbox first."],
  ]);
  expect((await world.call("POST", `/v1/sandboxes/${id}/resume`)).status).toBe(200);
  expect((await execute()).status).toBe(200);
});

test("a fork is resumed by calls where its source is", async () => {
  const { id } = await world.createSandbox({ mode: "persistent", auto_resume: false });
  const forked = await world.call<{ items: Sandbox[] }>("POST", `/v1/sandboxes/${id}/fork`, { body: {} });
  expect(forked.body.items.map(({ auto_resume }) => auto_resume)).toEqual([false]);
});
