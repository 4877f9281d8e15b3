// Deploys while a host is drained, dies, and comes back, on two fake hosts.

import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Deploy } from "@skerry/contract/apps/deploy";
import { heartbeat } from "../src/hosts/heartbeat.ts";
import { hostHealthMonitor } from "../src/hosts/host-health-monitor.ts";
import { FakeHost } from "./support/fake-host.ts";
import { never } from "./support/two-hosts.ts";
import { useApps } from "./support/apps.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, getDeploy, pass } = useApps(world);
const second = new FakeHost();

beforeAll(async () => {
  Object.assign(second, { name: "second", edgeDoor: "192.0.2.2:7072", memoryMib: 1_000_000, cpus: 64 });
  world.host.edgeDoor = "192.0.2.1:7072";
  await second.start();
  await ask(second);
});
afterAll(() => second[Symbol.asyncDispose]());

beforeEach(() => onlyOn(world.host));
afterEach(async () => {
  await sql`delete from apps`.execute(world.db);
  await turns(3);
  expect([world.host.vms.size, second.vms.size]).toEqual([0, 0]);
});

/** One round over all hosts, which this one joins. */
const ask = (one: FakeHost) =>
  heartbeat(world.context, { hostSocket: one.socketPath, everyMs: 1_000, graceMs: 0 }).activate(never);
/** The others are drained. */
const onlyOn = async (...some: readonly FakeHost[]): Promise<void> => {
  const names = some.map(({ name }) => name);
  await sql`
    update hosts set desired = case when name = any(${names}) then 'active' else 'drained' end`.execute(
    world.db,
  );
  await ask(world.host);
  await world.context.hostCapacity.refreshNow();
};
/** It answers no more, for as long as it takes to be given up. */
const lose = async (one: FakeHost): Promise<void> => {
  await one.stop();
  for (let round = 0; round < 4; round += 1) {
    await sql`
      update hosts set last_heartbeat = last_heartbeat - interval '10 s', silent_since = silent_since - interval '10 s',
        silent_until = silent_until - interval '10 s'`.execute(world.db);
    await ask(world.host);
  }
  await hostHealthMonitor(world.context, 1_000).activate(never);
};

const servedBy = (one: FakeHost) => one.edge.served()["web"] ?? [];
const turns = async (count: number): Promise<void> => {
  for (let each = 0; each < count; each += 1) {
    await turn();
    for (const one of [world.host, second]) await pass(one);
    await sql`update apps set start_after = now()`.execute(world.db);
  }
};
/** A host that was away is told of its documents after three seconds again. */
const untilOver = async (one: Deploy): Promise<Deploy> => {
  await eventually(async () => {
    await turns(1);
    return (await getDeploy(one)).finished_at !== null;
  }, "the deploy is over");
  return getDeploy(one);
};
/** The only instance there is serves this release, here and not there. */
const untilOnlyOn = async (here: FakeHost, there: FakeHost, release: number): Promise<void> => {
  await eventually(async () => {
    await turns(1);
    return servedBy(there).length === 0 && there.vms.size === 0 && here.vms.size === 1;
  }, "one instance is left");
  expect((await getApp()).instances).toMatchObject([{ release, state: "serving" }]);
  expect([...here.vms.keys()]).toEqual(servedBy(here));
};

test("a deploy goes on where its host is drained in the middle, and all serves on the other one", async () => {
  await newApp();
  await untilOver(await deploy());
  const [before = ""] = servedBy(world.host);
  const one = await deploy();
  await turn();
  await turn();
  expect((await getDeploy(one)).status).toBe("checking");
  await onlyOn(second);
  for (let tries = 0; (await getDeploy(one)).finished_at === null; tries += 1) {
    expect(tries).toBeLessThan(20);
    const all = [...servedBy(world.host), ...servedBy(second)];
    expect(all.some((id) => world.host.vms.has(id) || second.vms.has(id))).toBe(true);
    await turns(1);
  }
  expect((await getDeploy(one)).status).toBe("live");
  await untilOnlyOn(second, world.host, 2);
  expect(second.vms.has(before)).toBe(false);
});

test("a deploy whose new instance is lost with its host starts another one, is live, and has one when that host is back", async () => {
  await newApp();
  await untilOver(await deploy());
  await onlyOn(world.host, second);
  // The new one goes where there is none of the group.
  const one = await deploy();
  await turn();
  await turn();
  expect([(await getDeploy(one)).status, second.vms.size]).toEqual(["checking", 1]);
  await lose(second);
  expect(await untilOver(one)).toMatchObject({ status: "live", reason: null });
  expect((await getApp()).instances.filter(({ state }) => state === "serving")).toMatchObject([
    { release: 2 },
  ]);
  await second.start();
  await ask(second);
  await untilOnlyOn(world.host, second, 2);
});

test("the release before is lost with its host in the middle of a deploy, which goes on and is live", async () => {
  await onlyOn(second);
  await newApp();
  await untilOver(await deploy());
  expect(servedBy(second)).toHaveLength(1);
  await onlyOn(world.host);
  const one = await deploy();
  await turn();
  await turn();
  await lose(second);
  expect(await untilOver(one)).toMatchObject({ status: "live", reason: null });
  expect((await getApp()).instances.filter(({ state }) => state === "serving")).toMatchObject([
    { release: 2 },
  ]);
  await second.start();
  await ask(second);
  await untilOnlyOn(world.host, second, 2);
});

test("a deploy waits while the only host is away, without trying all the time, and goes on when it is back", async () => {
  await newApp();
  await untilOver(await deploy());
  const [before] = servedBy(world.host);
  const one = await deploy();
  await world.host.stop();
  await sql`update hosts set last_heartbeat = now() - interval '1 minute'`.execute(world.db);
  world.log.length = 0;
  await turn();
  expect(world.log.filter(({ msg }) => msg === "an instance could not be started")).toHaveLength(1);
  expect((await getDeploy(one)).finished_at).toBeNull();
  expect((await getApp()).instances).toMatchObject([{ machine_id: before, state: "serving" }]);
  await world.host.start();
  await ask(world.host);
  expect((await untilOver(one)).status).toBe("live");
  await untilOnlyOn(world.host, second, 2);
});
