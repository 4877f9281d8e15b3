// What organizations and hosts are said to hold, against the rows that hold it.

import { sql } from "kysely";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { machineStatuses, machineStatusesOnHost } from "@skerry/contract/machines/machine-status";
import { moveStatusesOnTarget, moveTransitions } from "@skerry/contract/moves/move-status";
import { sandboxStatuses, sandboxStatusesOnHost } from "@skerry/contract/sandboxes/sandbox-status";
import type { Queries } from "../src/db/database.ts";
import { availableHosts, held, lockCapacity } from "../src/capacity/capacity-rows.ts";
import { useWorld } from "./support/world.ts";

const moveStatuses = Object.keys(moveTransitions);
const ELSEWHERE = "hst_elsewhere";

const world = useWorld();
let hostId: string;
beforeAll(async () => {
  world.host.memoryMib = 1_000_000;
  await world.beat();
  hostId = (await world.createSandbox()).host_id ?? "";
  // Nobody is there, so nothing is placed on it.
  await sql`
    insert into hosts select (jsonb_populate_record(h, ${JSON.stringify({ id: ELSEWHERE, name: "elsewhere", address: "unix:/nowhere", templates: [] })}::jsonb)).*
    from hosts h where id = ${hostId}`.execute(world.db);
});
beforeEach(async () => {
  for (const table of ["moves", "machines", "sandboxes"])
    await sql`delete from ${sql.table(table)}`.execute(world.db);
});

interface Sums {
  readonly sandboxes: number;
  readonly machines: number;
  readonly vcpus: number;
  readonly memory_mib: number;
  readonly disk_gib: number;
}

interface Thing extends Sums {
  readonly account: string;
}

const nothing: Sums = { sandboxes: 0, machines: 0, vcpus: 0, memory_mib: 0, disk_gib: 0 };

/** By account, without those that hold nothing. */
function summed(things: readonly Thing[]): Record<string, Sums> {
  const accounts = new Map<string, Sums>();
  for (const { account, ...thing } of things) {
    const before = accounts.get(account) ?? nothing;
    accounts.set(account, {
      sandboxes: before.sandboxes + thing.sandboxes,
      machines: before.machines + thing.machines,
      vcpus: before.vcpus + thing.vcpus,
      memory_mib: before.memory_mib + thing.memory_mib,
      disk_gib: before.disk_gib + thing.disk_gib,
    });
  }
  const holding = [...accounts].filter(([, sums]) => Object.values(sums).some((sum) => sum !== 0));
  return Object.fromEntries(holding);
}

async function entries(db: Queries): Promise<Record<string, Sums>> {
  const { rows } = await sql<Thing>`
    select account, sandboxes::integer, machines::integer, vcpus::integer, memory_mib::integer, disk_gib::integer
    from capacity_entries`.execute(db);
  return summed(rows);
}

/** As the contract's lists of statuses have it. */
async function fromRows(db: Queries): Promise<Record<string, Sums>> {
  const has = (statuses: readonly string[], status: string): boolean => statuses.includes(status);
  const onHost = ({ vcpus, memory_mib }: { vcpus: number; memory_mib: number }, is: boolean) =>
    is ? { vcpus, memory_mib } : { vcpus: 0, memory_mib: 0 };
  const sandboxes = await db.selectFrom("sandboxes").selectAll().execute();
  const machines = await db.selectFrom("machines").selectAll().execute();
  const moves = await db.selectFrom("moves").selectAll().execute();
  return summed([
    ...sandboxes.flatMap((row) => {
      const room = onHost(row, has(sandboxStatusesOnHost, row.status));
      const exists = !has(["failed", "destroyed"], row.status);
      const ofOrganization = { ...nothing, ...room, sandboxes: 1, disk_gib: row.disk_gib };
      return [
        { account: row.org_id, ...(exists ? ofOrganization : nothing) },
        { account: row.host_id, ...nothing, ...room },
        {
          account: `persistent:${row.org_id}`,
          ...nothing,
          disk_gib:
            (row.mode === "persistent" || row.status === "pausing" || row.paused_at !== null) && exists
              ? row.disk_gib + Math.ceil(row.memory_mib / 1_024)
              : 0,
        },
      ];
    }),
    ...machines.flatMap((row) => {
      const room = onHost(row, has(machineStatusesOnHost, row.status));
      const neverRan = has(["failed", "stopped"], row.status) && row.started_at === null;
      const exists = row.status !== "destroyed" && !neverRan;
      const ofOrganization = { ...nothing, ...room, machines: 1, disk_gib: row.disk_gib };
      return [
        { account: row.org_id, ...(exists ? ofOrganization : nothing) },
        { account: row.host_id, ...nothing, ...room },
      ];
    }),
    ...moves.map((row) => ({
      account: row.to_host_id,
      ...nothing,
      ...onHost(row, has(moveStatusesOnTarget, row.status)),
    })),
  ]);
}

/** Both in one snapshot. */
async function expectAgreement(): Promise<Record<string, Sums>> {
  return world.db
    .transaction()
    .setIsolationLevel("repeatable read")
    .execute(async (transaction) => {
      const sums = await entries(transaction);
      expect(sums).toEqual(await fromRows(transaction));
      return sums;
    });
}

async function insertMove(vmId: string): Promise<void> {
  await sql`
    insert into moves (id, vm_id, from_host_id, to_host_id, from_execution_id, to_execution_id, ticket, vcpus, memory_mib, status)
    values ('mov_x', ${vmId}, ${hostId}, ${ELSEWHERE}, 'a', 'b', '', 2, 512, 'preparing')`.execute(world.db);
}

test("in every status sandboxes, machines and moves hold what the contract says", async () => {
  const { id } = await world.createSandbox({ mode: "persistent", size: "performance-2x" });
  await world.createSandbox();
  const machine = await world.createMachine();
  await insertMove(id);
  expect(Object.keys(await expectAgreement())).toHaveLength(4);
  for (const [table, statuses] of [
    ["sandboxes", sandboxStatuses],
    ["machines", machineStatuses],
    ["moves", moveStatuses],
  ] as const)
    for (const status of statuses) {
      await sql`update ${sql.table(table)} set status = ${status}`.execute(world.db);
      await expectAgreement();
    }
  for (const status of machineStatuses) {
    await sql`update machines set status = ${status}, started_at = null where id = ${machine.id}`.execute(
      world.db,
    );
    await expectAgreement();
  }
});

test("what moves to another host, changes its size or is deleted is taken from where it was", async () => {
  const { id } = await world.createSandbox();
  await world.createMachine();
  await sql`update sandboxes set host_id = ${ELSEWHERE}, memory_mib = 777, disk_gib = 9`.execute(world.db);
  await sql`update machines set host_id = ${ELSEWHERE}, vcpus = 3`.execute(world.db);
  await insertMove(id);
  expect((await expectAgreement())[hostId]).toBeUndefined();
  await sql`delete from moves`.execute(world.db);
  await sql`delete from machines`.execute(world.db);
  await sql`delete from sandboxes`.execute(world.db);
  expect(await expectAgreement()).toEqual({});
});

test("what is undone leaves no entry", async () => {
  await world.createSandbox();
  const before = await expectAgreement();
  const undone = world.db.transaction().execute(async (transaction) => {
    await sql`update sandboxes set status = 'destroyed'`.execute(transaction);
    throw new Error("undone");
  });
  await expect(undone).rejects.toThrow("undone");
  expect(await expectAgreement()).toEqual(before);
});

test("however many change at once, sums that are read and made one entry meanwhile are those of the rows", async () => {
  const modes = ["ephemeral", "persistent"] as const;
  const ids = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => (await world.createSandbox({ mode: modes[index % 2] })).id),
  );
  let left = ids.length;
  const change = async (id: string, turn: number): Promise<void> => {
    const status = sandboxStatuses[turn % sandboxStatuses.length] ?? "running";
    const host = turn % 3 === 0 ? ELSEWHERE : hostId;
    await sql`update sandboxes set status = ${status}, host_id = ${host} where id = ${id}`.execute(world.db);
  };
  const changes = ids.map(async (id, index) => {
    for (let turn = 0; turn < 60; turn += 1) await change(id, turn + index);
    left -= 1;
  });
  const locks = [hostId, ELSEWHERE].map(async (host) => {
    while (left > 0) {
      await world.db.transaction().execute((transaction) => lockCapacity(transaction, world.orgId, host));
      await expectAgreement();
    }
  });
  await Promise.all([...changes, ...locks]);
  const sums = await expectAgreement();
  const { persistent_disk_gib, ...rest } = await held(world.db, world.orgId);
  expect(sums[world.orgId]).toEqual({ ...nothing, ...rest });
  expect(sums[`persistent:${world.orgId}`]?.disk_gib ?? 0).toBe(persistent_disk_gib);
  const loads = new Map((await availableHosts(world.db)).map((load) => [load.id, load.used_memory_mib]));
  for (const host of [hostId, ELSEWHERE]) expect(loads.get(host)).toBe(sums[host]?.memory_mib ?? 0);
});

test("entries do not grow in number with what comes and goes", async () => {
  for (let round = 0; round < 60; round += 1) {
    const { id } = await world.createSandbox();
    await world.call("DELETE", `/v1/sandboxes/${id}`);
  }
  const { rows } = await sql<{ account: string }>`select account from capacity_entries`.execute(world.db);
  expect(rows.length).toBeLessThan(120);
});
