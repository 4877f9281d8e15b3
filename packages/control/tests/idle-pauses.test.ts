// Persistent sandboxes that are paused when nothing uses them.

import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Sandbox, SandboxForks } from "@skerry/contract/sandboxes/sandbox";
import { idlePauser } from "../src/platform/idle-pauser.ts";
import { never } from "./support/two-hosts.ts";
import { World, type Answer } from "./support/world.ts";

const IDLE_MS = 10 * 60_000;

let world: World;
let id: string;
beforeEach(async () => {
  world = await World.open();
  id = (await world.createSandbox({ mode: "persistent", pause_after_idle: "10m" })).id;
});
afterEach(() => world[Symbol.asyncDispose]());

const sandbox = async (): Promise<Sandbox> => (await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`)).body;
const execute = (): Promise<Answer<unknown>> =>
  world.call("POST", `/v1/sandboxes/${id}/execute`, { body: { command: "true" } });
const look = () => idlePauser(world.context, 1_000).activate(never);
const unused = (ms: number): void => void world.host.pauses.unusedMs?.set(id, ms);
const create = (body: object) =>
  world.call<{ code: string; message: string; context: object }>("POST", "/v1/sandboxes", {
    body: { template: "base", ...body },
  });

test("it is paused when nothing has used it for as long as it says, and a call resumes it", async () => {
  unused(IDLE_MS - 1);
  await look();
  expect(await sandbox()).toMatchObject({ status: "running", pause_after_idle: "10m" });
  unused(IDLE_MS);
  expect(await look()).toMatchObject({ changed: 1, failed: 0 });
  expect(await sandbox()).toMatchObject({ status: "paused", reason: null, pause_after_idle: "10m" });
  const { body } = await world.call<{ items: { actor: { service: string } }[] }>(
    "GET",
    "/v1/audit?action=sandbox.pause",
  );
  expect(body.items.map(({ actor }) => actor.service)).toEqual(["idle-pauser"]);
  expect((await execute()).status).toBe(200);
  expect((await sandbox()).status).toBe("running");
});

test("one without the setting, or in use, or of which its host says nothing, runs on", async () => {
  await look();
  expect((await sandbox()).status).toBe("running");
  const other = await world.createSandbox({ mode: "persistent" });
  world.host.pauses.unusedMs?.set(other.id, 24 * 3_600_000);
  await look();
  expect((await world.call<Sandbox>("GET", `/v1/sandboxes/${other.id}`)).body.status).toBe("running");
  world.host.pauses.unusedMs = undefined;
  expect(await look()).toMatchObject({ failed: 0 });
  expect((await sandbox()).status).toBe("running");
});

test("where its host sees a use that has come meanwhile it runs on as if nothing had been, and is paused the next time", async () => {
  unused(IDLE_MS);
  world.host.pauses.before = async () => unused(0);
  const { expires_at } = await sandbox();
  await look();
  expect(await sandbox()).toMatchObject({ status: "running", reason: null, expires_at });
  world.host.pauses.before = async () => undefined;
  unused(IDLE_MS);
  await look();
  expect((await sandbox()).status).toBe("paused");
});

test("a call that comes in the middle of the pause waits for it, and resumes the sandbox", async () => {
  unused(IDLE_MS);
  let answer: Promise<Answer<unknown>> | undefined;
  world.host.pauses.after = async (step) => {
    if (step === "pause") answer = execute();
  };
  await look();
  expect((await answer)?.status).toBe(200);
  expect((await sandbox()).status).toBe("running");
});

test("an earlier life's rest pauses nothing: its host names the life", async () => {
  unused(IDLE_MS);
  const vm = world.host.vms.get(id);
  if (vm === undefined) throw new Error("the host has no such VM");
  world.host.vms.set(id, { ...vm, execution_id: "exe_another" });
  await look();
  expect((await sandbox()).status).toBe("running");
});

test("one that its host cannot pause runs on, says why, and is left alone for a while", async () => {
  unused(IDLE_MS);
  world.host.pauses.failures.set("pause", new SkerryError("disk_full", "The disk is full."));
  expect(await look()).toMatchObject({ failed: 1 });
  expect((await sandbox()).reason).toContain("The disk is full");
  expect(await look()).toMatchObject({ examined: 0 });
});

test("of a host that does not answer nothing is concluded", async () => {
  await world.host.stop();
  expect(await look()).toMatchObject({ examined: 1, changed: 0, failed: 1 });
  expect((await sandbox()).status).toBe("running");
});

test("a fork inherits the setting", async () => {
  const { body } = await world.call<SandboxForks>("POST", `/v1/sandboxes/${id}/fork`, { body: {} });
  expect(body.items.map(({ pause_after_idle }) => pause_after_idle)).toEqual(["10m"]);
});

test.each([
  [{ pause_after_idle: "10m" }, 400, "bad_request", "persistent"],
  [{ mode: "persistent", pause_after_idle: "10" }, 400, "invalid_duration", "duration"],
  [{ mode: "persistent", pause_after_idle: "9s" }, 400, "invalid_duration", "at least 10s"],
  [{ mode: "persistent", pause_after_idle: "25h" }, 422, "timeout_too_long", "24h"],
])("%j is refused", async (body, status, code, words) => {
  const refused = await create(body);
  expect([refused.status, refused.body.code]).toEqual([status, code]);
  expect(refused.body.message).toContain(words);
  expect(refused.body.context).toMatchObject({ field: "pause_after_idle" });
});
