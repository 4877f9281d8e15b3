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

test("a fork is resumed by calls where its source is", async () => {
  const { id } = await world.createSandbox({ mode: "persistent", auto_resume: false });
  const forked = await world.call<{ items: Sandbox[] }>("POST", `/v1/sandboxes/${id}/fork`, { body: {} });
  expect(forked.body.items.map(({ auto_resume }) => auto_resume)).toEqual([false]);
});
