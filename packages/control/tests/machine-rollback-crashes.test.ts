// What becomes of a machine when its host or control dies in the middle of a rollback: its own disk is gone from the moment at which the host begins.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Machine } from "@skerry/contract/machines/machine";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { startControl } from "./support/replica.ts";
import { eventually, World } from "./support/world.ts";

let world: World;
let upkeep: MachineUpkeep;
let id: string;
let snapshot: string;
beforeEach(async () => {
  world = await World.open();
  upkeep = new MachineUpkeep(world);
});
afterEach(() => world[Symbol.asyncDispose]());

type Policy = "no" | "always";

async function open(policy: Policy): Promise<void> {
  id = (await world.createMachine({ command: "exec count", restart: { policy } })).id;
  const take = () => world.call<Snapshot>("POST", `/v1/machines/${id}/snapshots`);
  snapshot = (await take()).body.id;
  await take();
}

const rollBack = (url = world.url) =>
  world.call<Machine & { code: string }>("POST", `/v1/machines/${id}/rollback`, { body: { snapshot }, url });
const row = () => world.db.selectFrom("machines").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
const never = (): Promise<void> => new Promise(() => undefined);

/** VM cleanup, and the restarts that it asks for. */
async function settle(): Promise<void> {
  await sql`update machines set claimed_until = now() - interval '1 ms' where id = ${id}`.execute(world.db);
  await upkeep.cleanUp();
  await upkeep.allDue();
  await upkeep.startWaiting();
}

async function expectAtSnapshot(): Promise<void> {
  expect(await row()).toMatchObject({ status: "running", snapshot_id: snapshot, rollback_to: null });
  expect(world.host.vms.get(id)?.spec).toMatchObject({ from: { kind: "snapshot", snapshot_id: snapshot } });
}

function between(there: () => Promise<void>): void {
  world.host.snapshots.betweenLives = async () => {
    world.host.snapshots.betweenLives = async () => undefined;
    await there();
  };
}

test.each(["no", "always"] as const)(
  "a host that dies when it has given the disk up leaves a machine with the restart policy %s at the snapshot",
  async (policy) => {
    await open(policy);
    between(async () => {
      await world.host.stop();
      await never();
    });
    expect((await rollBack()).body.code).toBe("host_unavailable");
    await world.host.start();
    await settle();
    await expectAtSnapshot();
  },
);

test("a control process that dies then, and its host with it, leaves the machine at the snapshot", async () => {
  await open("no");
  let reached = false;
  between(async () => {
    reached = true;
    await never();
  });
  await using control = await startControl(world);
  rollBack(control.url).catch(() => undefined);
  await eventually(() => reached, "the host has given the disk up");
  await control.kill();
  await world.host.stop();
  await world.host.start();
  await settle();
  await expectAtSnapshot();
});

test("a control process that dies when the host has begun leaves a machine that says which snapshot it comes from", async () => {
  await open("no");
  let reached = false;
  world.host.snapshots.afterStart = async () => {
    reached = true;
    await never();
  };
  await using control = await startControl(world);
  rollBack(control.url).catch(() => undefined);
  await eventually(() => reached, "the host has begun");
  await control.kill();
  await sql`update machines set claimed_until = now() - interval '1 ms' where id = ${id}`.execute(world.db);
  await upkeep.cleanUp();
  await expectAtSnapshot();
});

test("a machine whose own disk is still there starts from that, and not at the snapshot", async () => {
  await open("no");
  const { snapshot_id: newest } = await upkeep.get(id);
  world.host.failures.set("start", new SkerryError("snapshot_damaged", "its memory is missing"));
  expect((await rollBack()).body.code).toBe("snapshot_damaged");
  world.host.failures.clear();
  await settle();
  expect(await row()).toMatchObject({ status: "running", snapshot_id: newest, rollback_to: null });
  expect(world.host.vms.get(id)?.spec).toMatchObject({ machine: { disk: "kept" } });
});

test("where the snapshot cannot be started the machine has failed, and another rollback brings it back", async () => {
  await open("no");
  between(async () => {
    world.host.failures.set("start", new SkerryError("guest_failed", "it does not wake"));
    throw new SkerryError("guest_failed", "it does not wake");
  });
  expect((await rollBack()).body.code).toBe("guest_failed");
  for (let tries = 0; tries < 8; tries += 1) await settle();
  expect(await upkeep.get(id)).toMatchObject({ status: "failed", restart_at: null });
  world.host.failures.clear();
  expect((await rollBack()).body.status).toBe("running");
  await expectAtSnapshot();
});

test("a machine that is started with a new disk has nothing of the rollback any more", async () => {
  await open("no");
  between(async () => {
    throw new SkerryError("guest_failed", "it does not wake");
  });
  await rollBack();
  const started = await world.call<Machine>("POST", `/v1/machines/${id}/start`, { body: { new_disk: true } });
  expect([started.body.status, (await row()).rollback_to, (await row()).snapshot_id]).toEqual([
    "running",
    null,
    null,
  ]);
});

test("a machine whose host comes back without its disk, which a rollback had given up, is started at the snapshot", async () => {
  await open("no");
  between(async () => {
    await world.host.stop();
    await never();
  });
  await rollBack();
  await upkeep.set(id, "status = 'failed', host_lost = true");
  await sql`delete from restarts`.execute(world.db);
  await world.host.start();
  await settle();
  await expectAtSnapshot();
});

test("a machine that a replica of the version before has started is in no rollback any more", async () => {
  await open("no");
  between(async () => {
    throw new SkerryError("host_unavailable", "no answer");
  });
  await rollBack();
  await sql`update machines set status = 'starting', rollback_to = ${snapshot} where id = ${id}`.execute(
    world.db,
  );
  // Its statement does not name the column.
  await sql`update machines set status = 'running', version = version + 1 where id = ${id}`.execute(world.db);
  expect((await row()).rollback_to).toBeNull();
});
