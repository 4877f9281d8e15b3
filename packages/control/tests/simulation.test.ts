// What the control plane does with a thousand hosts and a hundred machines on each. How fast it does it is measured in `bench/hosts.ts`.

import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import { heartbeat } from "../src/hosts/heartbeat.ts";
import { hostHealthMonitor } from "../src/hosts/host-health-monitor.ts";
import type { Context } from "../src/context.ts";
import { HostCapacity } from "../src/capacity/host-capacity.ts";
import { fillWithMachines, silence, SimulatedHosts } from "./support/simulated-hosts.ts";
import { useWorld } from "./support/world.ts";

const never = new AbortController().signal;
const HOSTS = 1_000;
const MACHINES = 100;

const world = useWorld();
let context: Context;
const hosts = new SimulatedHosts(HOSTS);
beforeAll(async () => {
  await sql`delete from hosts`.execute(world.db);
  await hosts.join(world.db);
  await fillWithMachines(world.db, MACHINES);
  context = { ...world.context, hosts, hostCapacity: new HostCapacity(world.db) };
});

function ask() {
  return heartbeat(context, { hostSocket: "/nonexistent", everyMs: 1_000, graceMs: 0 }).activate(never);
}

async function hostsByStatus(): Promise<Record<string, number>> {
  const { rows } = await sql<{ status: string; hosts: number }>`
    select status, count(*)::integer as hosts from hosts group by status`.execute(world.db);
  return Object.fromEntries(rows.map(({ status, hosts: count }) => [status, count]));
}

async function machinesByStatus(): Promise<Record<string, number>> {
  const { rows } = await sql<{ status: string; machines: number }>`
    select status, count(*)::integer as machines from machines group by status`.execute(world.db);
  return Object.fromEntries(rows.map(({ status, machines }) => [status, machines]));
}

test("a round of heartbeats hears every one of a thousand hosts, and none loses a machine", async () => {
  expect(await ask()).toMatchObject({ examined: HOSTS + 1, changed: HOSTS });
  expect(await hostsByStatus()).toEqual({ online: HOSTS });
  expect(await hostHealthMonitor(context, 1_000).activate(never)).toMatchObject({ changed: 0 });
  expect(await machinesByStatus()).toEqual({ running: HOSTS * MACHINES });
});

test("of a thousand hosts the one that is silent is marked, with exactly its hundred machines", async () => {
  const [dead] = hosts.all;
  if (dead === undefined) throw new Error("no host");
  dead.silent = true;
  expect(await ask()).toMatchObject({ changed: HOSTS - 1 });
  // Rounds of a thousand take seconds; what several of them would write is written here.
  await silence(world.db, dead.id);
  expect(await hostHealthMonitor(context, 1_000).activate(never)).toMatchObject({ changed: 1 + MACHINES });
  expect(await hostsByStatus()).toEqual({ online: HOSTS - 1, offline: 1 });
  expect(await machinesByStatus()).toEqual({ running: (HOSTS - 1) * MACHINES, failed: MACHINES });
  const { rows } = await sql<{ waiting: number }>`
    select count(*)::integer as waiting from restarts r join machines m on m.id = r.machine_id
    where m.host_id = ${dead.id}`.execute(world.db);
  expect(rows).toEqual([{ waiting: MACHINES }]);
});
