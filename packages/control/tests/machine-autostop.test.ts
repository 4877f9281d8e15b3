// Machines that are stopped when nothing uses them, and started again by a call.

import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { AuditList } from "@skerry/contract/audit/audit-event";
import type { Machine } from "@skerry/contract/machines/machine";
import { idlePauser } from "../src/platform/idle-pauser.ts";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { never } from "./support/two-hosts.ts";
import { World, type Answer } from "./support/world.ts";

const IDLE_MS = 5 * 60_000;

let world: World;
let id: string;
beforeEach(async () => {
  world = await World.open();
  id = (await world.createMachine({ autostop: { idle: "5m" }, autostart: true })).id;
});
afterEach(() => world[Symbol.asyncDispose]());

const machine = async (): Promise<Machine> => (await world.call<Machine>("GET", `/v1/machines/${id}`)).body;
const execute = (): Promise<Answer<{ code?: string }>> =>
  world.call("POST", `/v1/machines/${id}/execute`, { body: { command: "true" } });
const act = (what: string) => world.call<Machine>("POST", `/v1/machines/${id}/${what}`);
const look = () => idlePauser(world.context, 1_000).activate(never);
const unused = (ms: number): void => void world.host.pauses.unusedMs?.set(id, ms);

test("it is stopped when nothing has used it for as long as it says, and a call starts it again", async () => {
  expect(await machine()).toMatchObject({ autostop: { idle: "5m" }, autostart: true });
  unused(IDLE_MS - 1);
  await look();
  expect((await machine()).status).toBe("running");
  unused(IDLE_MS);
  expect(await look()).toMatchObject({ changed: 1, failed: 0 });
  expect(world.host.stops.at(-1)).toMatchObject({ unused_ms: IDLE_MS });
  expect(await machine()).toMatchObject({ status: "stopped", reason: "stopped because nothing used it" });
  expect((await execute()).status).toBe(200);
  expect(await machine()).toMatchObject({ status: "running", desired: "running", restarts: 0 });
});

test("a request for a port waits for the start and until something listens, and the audit log has the start", async () => {
  unused(IDLE_MS);
  await look();
  const answer = world.call("GET", `/v1/machines/${id}/ports/9000/`);
  await expect.poll(async () => (await machine()).status).toBe("running");
  world.host.ports.listen(9_000, (connection) => {
    const head = "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: 2\r\n\r\n";
    connection.once("data", () => connection.end(`${head}hi`));
  });
  expect((await answer).status).toBe(200);
  const { body } = await world.call<AuditList>("GET", "/v1/audit?limit=10");
  const acts = body.items.map(({ action, actor }) => [action, actor.service ?? actor.user_name]);
  expect(acts.slice(0, 2)).toEqual([
    ["machine.start", "admin"],
    ["machine.stop", "idle-pauser"],
  ]);
  // Without `autostart` no request is kept waiting.
  await world.call("PATCH", `/v1/machines/${id}`, { body: { autostart: false } });
  const unheard = await world.call<{ code: string }>("GET", `/v1/machines/${id}/ports/9001/`);
  expect(unheard.body.code).toBe("port_not_listening");
});

test("without `autostart`, and where its owner stops it as well, no call starts it", async () => {
  unused(IDLE_MS);
  await look();
  await act("stop");
  expect((await execute()).body.code).toBe("machine_not_running");
  await act("start");
  await world.call("PATCH", `/v1/machines/${id}`, { body: { autostart: false } });
  unused(IDLE_MS);
  await look();
  expect((await machine()).status).toBe("stopped");
  expect((await execute()).body.code).toBe("machine_not_running");
});

test("where its host sees a use in the moment of the stop, it runs on and the call is served", async () => {
  unused(IDLE_MS);
  const execution = world.host.vms.get(id)?.execution_id;
  world.host.failures.set("stop", new SkerryError("vm_in_use", "It is in use."));
  await look();
  expect(await machine()).toMatchObject({ status: "running", desired: "running" });
  expect(world.host.vms.get(id)).toMatchObject({ status: "running", execution_id: execution });
  expect((await execute()).status).toBe(200);
});

test("a call in the middle of the stop waits for it, and is served after the start; many are one start", async () => {
  unused(IDLE_MS);
  const calls: Promise<Answer<object>>[] = [];
  world.host.beforeStop = async () => {
    // The host takes no call into it from here on.
    const vm = world.host.vms.get(id);
    if (vm !== undefined) world.host.vms.set(id, { ...vm, status: "stopped" });
    world.context.vmLocations.forget(id);
    for (let count = 0; count < 5; count += 1) calls.push(execute());
    await expect.poll(async () => (await machine()).status).toBe("stopping");
  };
  await look();
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(world.host.calls.filter((call) => call === `PUT /vms/${id}`)).toHaveLength(2);
});

test("a stop that its replica did not survive is finished, and a call starts it", async () => {
  unused(IDLE_MS);
  world.host.failures.set("stop", new SkerryError("host_unavailable", "It does not answer."));
  await look();
  expect((await machine()).status).toBe("stopping");
  world.host.failures.clear();
  await new MachineUpkeep(world).set(id, "claimed_until = null, retry_at = now()");
  await new MachineUpkeep(world).cleanUp();
  expect((await machine()).status).toBe("stopped");
  expect((await execute()).status).toBe(200);
});

test("a start that fails is told to the call", async () => {
  unused(IDLE_MS);
  await look();
  world.host.failures.set("start", new SkerryError("no_capacity", "There is no room."));
  expect((await execute()).body.code).toBe("no_capacity");
});

test("it is changed and removed by PATCH, and one without it runs on", async () => {
  const update = async (body: object) =>
    (await world.call<Machine>("PATCH", `/v1/machines/${id}`, { body })).body;
  expect(await update({ autostop: { idle: "1h" } })).toMatchObject({
    autostop: { idle: "1h" },
    autostart: true,
  });
  unused(IDLE_MS);
  await look();
  expect((await machine()).status).toBe("running");
  expect(await update({ autostop: null })).toMatchObject({ autostop: null });
  unused(24 * 3_600_000);
  await look();
  expect((await machine()).status).toBe("running");
  const short = await world.call<{ code: string }>("PATCH", `/v1/machines/${id}`, {
    body: { autostop: { idle: "1s" } },
  });
  expect(short.body.code).toBe("invalid_duration");
});
