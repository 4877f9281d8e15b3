// A host that was taken for dead and is back: until it is known what it came back with, it gets nothing new.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { HostList } from "@skerry/contract/hosts/host";
import { drainFinisher } from "../src/moves/drain-finisher.ts";
import { restartQueue } from "../src/machines/restart-queue.ts";
import { refused } from "./support/members.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";

let two: TwoHosts;
beforeEach(async () => {
  two = await TwoHosts.open();
  await two.ask();
});
afterEach(() => two[Symbol.asyncDispose]());

const create = () => two.world.call("POST", "/v1/sandboxes", { body: { template: "base" } });

async function cleanUpAll(): Promise<void> {
  for (let more = true; more;) ({ more } = await two.cleanUp());
}

async function waitsFor(): Promise<string | null | undefined> {
  const { body } = await two.world.call<HostList>("GET", "/v1/hosts");
  return body.items.find(({ name }) => name === "second")?.waits_for;
}

test("nothing is placed over the memory of what a host came back with", async () => {
  await two.onlySecond();
  two.second.memoryMib = 512;
  await two.ask();
  const ids = [(await two.world.createSandbox()).id, (await two.world.createSandbox()).id];
  await two.loseSecond();
  expect((await two.host("second")).status).toBe("online");
  expect(refused(await create())).toEqual([503, "host_unavailable"]);
  await cleanUpAll();
  expect([...two.second.vms.keys()].toSorted()).toEqual(ids.toSorted());
  expect(refused(await create())).toEqual([503, "no_capacity"]);
  await two.world.call("DELETE", `/v1/sandboxes/${ids[0]}`);
  expect((await create()).status).toBe(201);
});

test("a machine whose restart is due when its host comes back is not started anew: it goes on", async () => {
  await two.onlySecond();
  const { id } = await two.world.createMachine();
  const life = two.second.vms.get(id)?.execution_id;
  await two.loseSecond();
  await sql`insert into restarts (machine_id, due_at) values (${id}, now())`.execute(two.world.db);
  await restartQueue(two.world.context, 30_000).activate(never);
  const waiting = await two.world.call("GET", `/v1/machines/${id}`);
  expect(waiting.body).toMatchObject({ status: "failed", restarts: 0 });
  expect(waiting.body["reason"]).toContain("its next start waits: The host that has the machine's disk is");
  await cleanUpAll();
  const { body } = await two.world.call("GET", `/v1/machines/${id}`);
  expect(body).toMatchObject({ status: "running", restarts: 0, restart_at: null });
  expect(two.second.vms.get(id)?.execution_id).toBe(life);
});

test("a drain does not end before it is known what its host came back with", async () => {
  const id = await two.sandboxOn(two.second);
  await sql`update hosts set status = 'draining', desired = 'drained' where name = 'second'`.execute(
    two.world.db,
  );
  await two.loseSecond();
  const drain = drainFinisher(two.world.context, 1_000);
  await drain.activate(never);
  expect((await two.host("second")).status).toBe("draining");
  await cleanUpAll();
  await two.world.call("DELETE", `/v1/sandboxes/${id}`);
  await drain.activate(never);
  expect((await two.host("second")).status).toBe("maintenance");
});

test("more than one turn can clear up is cleared up in turns that follow at once", async () => {
  await two.onlySecond();
  const id = await two.sandboxOn(two.second);
  const vm = two.second.vms.get(id);
  if (vm === undefined) throw new Error("no VM");
  for (let n = 0; n < 40; n += 1) two.second.vms.set(`sbx_${n}`, { ...vm, id: `sbx_${n}` });
  await two.loseSecond();
  expect((await two.cleanUp()).more).toBe(true);
  expect(refused(await create())).toEqual([503, "host_unavailable"]);
  await cleanUpAll();
  expect([...two.second.vms.keys()]).toEqual([id]);
  expect((await create()).status).toBe(201);
});

test("a host that was lost once more meanwhile is looked at once more", async () => {
  await two.onlySecond();
  await two.loseSecond();
  two.second.beforeList = async () => {
    two.second.beforeList = async () => undefined;
    await sql`update hosts set status = 'offline', version = version + 1 where name = 'second'`.execute(
      two.world.db,
    );
    await two.ask();
  };
  await two.cleanUp();
  expect(refused(await create())).toEqual([503, "host_unavailable"]);
  await two.cleanUp();
  expect((await create()).status).toBe(201);
});

test("what the host cannot get rid of keeps it out of use, and nothing else does", async () => {
  await two.onlySecond();
  const id = await two.sandboxOn(two.second);
  await sql`update sandboxes set execution_id = 'exe_other' where id = ${id}`.execute(two.world.db);
  two.second.stuck.add(id);
  await two.loseSecond();
  const report = await two.cleanUp();
  // Its row fails, and what runs there is removed: neither comes to an end.
  expect([report.failed, report.more]).toEqual([2, false]);
  expect(await waitsFor()).toContain("what it came back with");
  expect(refused(await create())).toEqual([503, "host_unavailable"]);
  two.second.stuck.clear();
  await cleanUpAll();
  expect(await waitsFor()).toBeNull();
  expect((await create()).status).toBe(201);
});

test("disks of machines that the database does not know keep no host out of use", async () => {
  await two.onlySecond();
  const { id } = await two.world.createMachine();
  await two.world.call("POST", `/v1/machines/${id}/stop`);
  await sql`delete from machines where id = ${id}`.execute(two.world.db);
  await two.loseSecond();
  expect(await two.cleanUp()).toMatchObject({ changed: 0, more: false });
  expect(await waitsFor()).toBeNull();
  expect((await create()).status).toBe(201);
  expect(two.second.disks.has(id)).toBe(true);
});
