// A host on which there is room for one VM more, and many who ask for it at the same time.

import { expect, test } from "vitest";
import type { Machine } from "@skerry/contract/machines/machine";
import { setLimits } from "../src/limits/organization-limits.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const MIB = 256;
const TIMES = [1, 2, 3, 4, 5, 6, 7, 8];

async function roomFor(vms: number): Promise<void> {
  world.host.memoryMib = vms * MIB;
  await world.beat();
  await world.context.hostCapacity.refreshNow();
}

async function pausedSandbox(): Promise<string> {
  const { id } = await world.createSandbox({ mode: "persistent" });
  await world.call("POST", `/v1/sandboxes/${id}/pause`);
  return id;
}

const execute = (id: string) =>
  world.call("POST", `/v1/sandboxes/${id}/execute`, { body: { command: "true" } });

test("calls that come together resume a sandbox that has room once, on a host that is full with it", async () => {
  const id = await pausedSandbox();
  await roomFor(1);
  const answers = await Promise.all(TIMES.map(() => execute(id)));
  expect(answers.map(({ status }) => status)).toEqual(TIMES.map(() => 200));
  await world.call("DELETE", `/v1/sandboxes/${id}`);
});

test("so do those of an organization that is at its quota with it", async () => {
  await roomFor(100);
  const id = await pausedSandbox();
  await setLimits(world.db, world.orgId, [["quota_memory_mib", MIB]]);
  const answers = await Promise.all(TIMES.map(() => execute(id)));
  expect(answers.map(({ status }) => status)).toEqual(TIMES.map(() => 200));
  await setLimits(world.db, world.orgId, [["quota_memory_mib", null]]);
  await world.call("DELETE", `/v1/sandboxes/${id}`);
});

test("a machine that is started by many at the same time starts once, on a host that is full with it", async () => {
  await roomFor(100);
  const { id } = await world.createMachine();
  await world.call("POST", `/v1/machines/${id}/stop`);
  await roomFor(1);
  const answers = await Promise.all(TIMES.map(() => world.call<Machine>("POST", `/v1/machines/${id}/start`)));
  expect(answers.map(({ status, body }) => [status, body.status])).toEqual(TIMES.map(() => [200, "running"]));
  await world.call("DELETE", `/v1/machines/${id}`);
});

test("what others try to get, and may be refused yet, refuses nothing", async () => {
  await roomFor(1);
  const [host] = world.context.hostCapacity.hosts;
  const large = { name: "large", cpu: "shared", vcpus: 64, memory_mib: 65_536 } as const;
  using _tried = world.context.hostCapacity.hold(host?.id ?? "", large);
  expect((await world.call("POST", "/v1/sandboxes", { body: { template: "base" } })).status).toBe(201);
});
