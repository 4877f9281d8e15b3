// Whatever is wished and whatever breaks, in whichever order: the system settles in what was wished, or in `failed` with a reason, and no VM
// runs twice. Hosts are simulated, the database and all of control are real.

import fc from "fast-check";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AddressInfo } from "node:net";
import { drainFinisher } from "../src/moves/drain-finisher.ts";
import { heartbeat } from "../src/hosts/heartbeat.ts";
import { hostHealthMonitor } from "../src/hosts/host-health-monitor.ts";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { restartQueue } from "../src/machines/restart-queue.ts";
import type { BackgroundService } from "../src/background/background-service.ts";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import { buildServer, type Server } from "../src/app/server.ts";
import type { Context } from "../src/context.ts";
import { HostCapacity } from "../src/capacity/host-capacity.ts";
import { isAway } from "../src/joining/certificate-authority-store.ts";
import { VmLocations } from "../src/vms/vm-locations.ts";
import { DyingDatabase } from "./support/dying-database.ts";
import { silence, SimulatedHosts, type SimulatedHost } from "./support/simulated-hosts.ts";
import { useWorld } from "./support/world.ts";

const never = new AbortController().signal;

const world = useWorld();
let server: Server;
let url: string;
let context: Context;
let services: Readonly<Record<string, BackgroundService>>;
let hosts: SimulatedHosts;
const control = new DyingDatabase();

beforeAll(async () => {
  hosts = new SimulatedHosts(3);
  const db = control.over(world.db);
  context = {
    ...world.context,
    db,
    hosts,
    hostCapacity: new HostCapacity(db),
    // No second replica has routes that a destruction would have to wait for.
    vmLocations: new VmLocations(10),
  };
  server = await buildServer(context);
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${(server.app.server.address() as AddressInfo).port}`;
  services = {
    beat: heartbeat(context, { hostSocket: "/nonexistent", everyMs: 1, graceMs: 0 }),
    judge: hostHealthMonitor(context, 1),
    cleanUp: vmReconciler(context, 1),
    reap: sandboxReaper(context, 1, 30),
    restart: restartQueue(context, 30_000),
    drainEnd: drainFinisher(context, 1),
  };
});
afterAll(async () => {
  await server.stop(0);
});

const kinds = [
  ...["createSandbox", "createMachine", "createMachine", "destroy", "start", "stop", "restartWish"],
  ...["drain", "activate", "vmDies", "hostFallsSilent", "hostReturns", "hostReboots", "timePasses", "expire"],
  ...["controlDies", "beat", "judge", "judge", "cleanUp", "reap", "restart", "drainEnd"],
] as const;

/** `which` chooses among what there is, so that a sequence means something whatever came before. */
interface Step {
  readonly kind: string;
  readonly which: number;
}

const step: fc.Arbitrary<Step> = fc.record({ kind: fc.constantFrom(...kinds), which: fc.nat(1_000) });

test(
  "after any sequence of wishes, crashes and heartbeats the system settles, and no VM runs twice",
  { timeout: 240_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 30 }), async (steps) => {
        await fresh();
        for (const one of steps) await take(one);
        await settle();
        await expectSettled();
        for (const host of hosts.all) host.silent = false;
        await settle();
        await expectSettled();
      }),
      { numRuns: 15, endOnFailure: true },
    );
  },
);

async function fresh(): Promise<void> {
  control.live();
  await sql`delete from restarts`.execute(world.db);
  await sql`delete from machines`.execute(world.db);
  await sql`delete from sandboxes`.execute(world.db);
  await sql`delete from hosts`.execute(world.db);
  for (const host of hosts.all) {
    host.vms.clear();
    host.silent = false;
  }
  await hosts.join(world.db);
  await services["beat"]?.activate(never);
  // Otherwise the first steps of most sequences would have nothing to be about.
  for (const kind of ["createSandbox", "createSandbox", "createMachine", "createMachine", "createMachine"]) {
    await take({ kind, which: 1 });
  }
}

function pick<T>(all: readonly T[], which: number): T | undefined {
  return all[which % Math.max(1, all.length)];
}

async function ids(table: "sandboxes" | "machines"): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from ${sql.table(table)} order by id`.execute(
    world.db,
  );
  return rows.map(({ id }) => id);
}

async function take({ kind, which }: Step): Promise<void> {
  const host = pick(hosts.all, which);
  if (host === undefined) throw new Error("no host");
  await (wishes[kind] ?? breakages[kind] ?? byItself)({ kind, which, host });
}

interface Deed extends Step {
  readonly host: SimulatedHost;
}

type Do = (deed: Deed) => Promise<void>;

const onMachine =
  (verb: string): Do =>
  async ({ which }) => {
    const id = pick(await ids("machines"), which);
    if (id !== undefined) await call("POST", `/v1/machines/${id}/${verb}`);
  };

const onHost: Do = ({ kind, host }) => call("POST", `/v1/hosts/${host.id}/${kind}`);

const wishes: Readonly<Record<string, Do>> = {
  createSandbox: () => call("POST", "/v1/sandboxes", { template: "base" }),
  createMachine: ({ which }) => {
    const policy = pick(["no", "on-failure", "always"], which);
    return call("POST", "/v1/machines", { template: "base", restart: { policy, max_retries: 3 } });
  },
  destroy: async ({ which }) => {
    const id = pick([...(await ids("sandboxes")), ...(await ids("machines"))], which);
    if (id !== undefined)
      await call("DELETE", `/v1/${id.startsWith("mch") ? "machines" : "sandboxes"}/${id}`);
  },
  start: onMachine("start"),
  stop: onMachine("stop"),
  restartWish: onMachine("restart"),
  drain: onHost,
  activate: onHost,
};

const breakages: Readonly<Record<string, Do>> = {
  controlDies: async ({ which }) => control.dieAfter(which % 12),
  timePasses: () => passTime(),
  expire: async ({ which }) => {
    const id = pick(await ids("sandboxes"), which) ?? "";
    await sql`update sandboxes set expires_at = now() where id = ${id}`.execute(world.db);
  },
  vmDies: async ({ host, which }) => host.end(pick([...host.vms.keys()], which) ?? ""),
  hostFallsSilent: ({ host }) => {
    host.silent = true;
    return silence(world.db, host.id);
  },
  hostReturns: async ({ host }) => void (host.silent = false),
  // Sandboxes are gone; of machines the disks are left.
  hostReboots: async ({ host }) => {
    for (const id of [...host.vms.keys()]) {
      if (id.startsWith("mch")) host.end(id);
      else host.vms.delete(id);
    }
  },
};

/** What control does without being asked. */
async function byItself({ kind }: Deed): Promise<void> {
  const service = services[kind];
  if (service === undefined) throw new Error(`there is no ${kind}`);
  await service.activate(never).catch(() => undefined);
  control.live();
}

/** A wish as a client sends it. What a control plane answers that dies meanwhile is anybody's guess; the next one is as good as new. */
async function call(method: string, path: string, body?: unknown): Promise<void> {
  await world.call(method, path, { url, ...(body === undefined ? {} : { body }) });
  control.live();
}

/** Claims lapse, and what waits is due. */
async function passTime(): Promise<void> {
  for (const table of ["sandboxes", "machines"]) {
    await sql`update ${sql.table(table)} set retry_at = now() - interval '1 ms', claimed_until = now() - interval '1 ms'
              where claimed_until is not null or retry_at > now()`.execute(world.db);
  }
  await sql`update restarts set due_at = now()`.execute(world.db);
  for (const host of hosts.all) if (host.silent) await silence(world.db, host.id);
}

async function settle(): Promise<void> {
  control.live();
  for (let round = 0; round < 8; round += 1) {
    await passTime();
    for (const service of Object.values(services)) await service.activate(never);
  }
}

interface Row {
  readonly id: string;
  readonly status: string;
  readonly desired: string | null;
  readonly reason: string | null;
  readonly execution_id: string;
  readonly host_id: string;
  readonly host_away: boolean;
  readonly queued: boolean;
}

async function expectSettled(): Promise<void> {
  const { rows } = await sql<Row>`
    select v.*, (select ${isAway} from hosts where id = v.host_id) as host_away, exists (select 1 from restarts r where r.machine_id = v.id) as queued
    from (
      select id, status, null as desired, reason, execution_id, host_id from sandboxes
      union all
      select id, status, desired, reason, execution_id, host_id from machines
    ) v`.execute(world.db);
  for (const row of rows) expectAtRest(row);
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const host of hosts.all.filter(({ silent }) => !silent)) {
    for (const vm of [...host.vms.values()].filter(({ status }) => status === "running")) {
      expect(byId.get(vm.id), `the row of ${vm.id} on ${host.name}`).toMatchObject({
        status: "running",
        execution_id: vm.execution_id,
        host_id: host.id,
      });
    }
  }
  for (const row of rows.filter(({ status }) => status === "running")) {
    const host = hosts.all.find(({ id }) => id === row.host_id);
    expect(host?.silent, `the host of ${row.id}`).toBe(false);
    expect(host?.vms.get(row.id), `the VM of ${row.id}`).toMatchObject({
      status: "running",
      execution_id: row.execution_id,
    });
  }
  await expectHosts();
}

function expectAtRest(row: Row): void {
  const told = `${row.id}: ${row.status}, wanted ${row.desired}, ${row.reason}`;
  // A host that is away cannot say that a VM is gone.
  if (row.host_away && ["unreachable", "destroying"].includes(row.status)) return;
  expect(["running", "stopped", "failed", "destroyed"], told).toContain(row.status);
  if (row.status === "failed") expect(row.reason, told).not.toBeNull();
  if (row.desired === "stopped") expect(row.status, told).not.toBe("running");
  // One that waits for its next start has nowhere to go.
  if (row.queued) expect(row.reason, told).toContain("waits");
}

async function expectHosts(): Promise<void> {
  const found = await world.db.selectFrom("hosts").select(["id", "name", "status", "desired"]).execute();
  for (const row of found) {
    const host = hosts.all.find(({ id }) => id === row.id);
    const allowed = row.desired === "active" ? ["online"] : ["draining", "maintenance"];
    expect([...allowed, ...(host?.silent === true ? ["offline"] : [])], row.name).toContain(row.status);
  }
}
