// Every status that is on the way to another one ends, however its work was left: the replica that was at it
// is dead, and so are, one after the other, the guest's QEMU, what the host had, and the host; or the host is
// there, and answers with an error whatever it is asked. And a destruction wins in each of them. A usual run
// takes each status and each loss at least once (support/sampling.ts).

import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { buildStatuses, type BuildStatus } from "@skerry/contract/builds/build-status";
import { SkerryError } from "@skerry/contract/errors";
import { machineStatuses, type MachineStatus } from "@skerry/contract/machines/machine-status";
import { moveStatuses, type MoveStatus } from "@skerry/contract/moves/move-status";
import { sandboxStatuses, type SandboxStatus } from "@skerry/contract/sandboxes/sandbox-status";
import { snapshotTransitions, type SnapshotStatus } from "@skerry/contract/snapshots/snapshot-status";
import { covering } from "../../../tests/support/sampling.ts";
import { builder } from "../src/builds/builder.ts";
import { restartQueue } from "../src/machines/restart-queue.ts";
import { mover } from "../src/moves/mover.ts";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { TRIES_MAX } from "../src/vms/postpone.ts";
import { newBuild } from "./support/builds.ts";
import type { FakeHost } from "./support/fake-host.ts";
import type { MoveStep } from "./support/fake-moves.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";

let two: TwoHosts;
let host: FakeHost;
beforeAll(async () => {
  two = await TwoHosts.open();
  host = two.second;
});
afterAll(() => two[Symbol.asyncDispose]());
beforeEach(forgetAll);

/** Both hosts are there and have nothing, and what is placed comes to the second one. */
async function forgetAll(): Promise<void> {
  mendHosts();
  for (const table of ["moves", "restarts", "snapshots", "sandboxes", "machines", "builds"])
    await sql`delete from ${sql.table(table)}`.execute(two.world.db);
  for (const fake of [two.first, host])
    for (const all of [fake.vms, fake.disks, fake.snapshots.kept, fake.moves.still, fake.moves.arrivals])
      all.clear();
  await sql`update hosts set status = 'online', desired = 'active', unsettled = false`.execute(two.world.db);
  await two.onlySecond();
  await two.world.context.hostCapacity.refreshNow();
}

/** In these something may stay for as long as it likes. */
const atRest = {
  sandboxes: ["running", "paused", "failed", "destroyed"],
  machines: ["running", "stopped", "failed", "destroyed"],
  snapshots: ["ready", "failed", "deleted"],
  builds: ["ready", "failed", "canceled"],
  moves: ["done", "canceled", "failed"],
} as const;

type Table = keyof typeof atRest;
type OnTheWay<Status, T extends Table> = Exclude<Status, (typeof atRest)[T][number]>;

interface Left {
  readonly id: string;
  /** That the host has for it. */
  readonly vm: string;
}

/** Brings something into the status, as the replica has left it that died then. */
type Leave = () => Promise<Left>;

async function set(table: Table, id: string, values: string): Promise<void> {
  await sql`update ${sql.table(table)} set ${sql.raw(values)} where id = ${id}`.execute(two.world.db);
}

const DUE = "retry_at = now() - interval '1 ms'";
const DEAD = `claimed_until = now() - interval '1 ms', ${DUE}`;
const post = async (path: string): Promise<void> => void (await two.world.call("POST", `/v1/${path}`));

function sandboxLeft(status: SandboxStatus, mode: "persistent" | "ephemeral" = "persistent"): Leave {
  return async () => {
    const { id } = await two.world.createSandbox({ mode });
    if (status === "resuming") await post(`sandboxes/${id}/pause`);
    await set("sandboxes", id, `status = '${status}', ${DEAD}`);
    return { id, vm: id };
  };
}

function machineLeft(status: MachineStatus): Leave {
  return async () => {
    const { id } = await two.world.createMachine({ command: "exec count" });
    await set("machines", id, `status = '${status}', ${DEAD}`);
    return { id, vm: id };
  };
}

function snapshotLeft(status: SnapshotStatus): Leave {
  return async () => {
    const { id: vm } = await two.world.createSandbox({});
    const taken = await two.world.call<{ id: string }>("POST", `/v1/sandboxes/${vm}/snapshots`);
    await set("snapshots", taken.body.id, `status = '${status}', ${DEAD}`);
    return { id: taken.body.id, vm };
  };
}

/** The service dies when it asks the host for what the status is about. */
function buildLeft(status: BuildStatus): Leave {
  return async () => {
    const { id } = await newBuild(two.world);
    const death = new AbortController();
    const die = async (): Promise<void> => death.abort();
    if (status === "queued") host.beforeStart = die;
    if (status === "building") host.beforeExecute = die;
    const asked = { sealing: "seal", freezing: "freeze" }[String(status)];
    host.templates.before = async (call) => (call === asked ? die() : undefined);
    await builder(two.world.context, 1_000).activate(death.signal);
    host.beforeStart = host.beforeExecute = host.templates.before = async () => undefined;
    expect(await statusOf("builds", id)).toBe(status);
    await set("builds", id, DUE);
    return { id, vm: id };
  };
}

const dyingAt: Readonly<Record<OnTheWay<MoveStatus, "moves">, MoveStep>> = {
  preparing: "manifest",
  sending: "send",
  resuming: "resume",
  canceling: "stay",
};

/** The mover dies when it asks a host for what the status is about. */
function moveLeft(status: OnTheWay<MoveStatus, "moves">): Leave {
  return async () => {
    const { id: vm } = await two.world.createSandbox({ mode: "persistent" });
    await sql`
      update hosts set
        desired = case when name = 'second' then 'drained' else 'active' end,
        status = case when name = 'second' then 'draining' else 'online' end`.execute(two.world.db);
    await two.world.context.hostCapacity.refreshNow();
    const death = new AbortController();
    for (const fake of [two.first, host])
      fake.moves.before = async (step) => {
        if (step === dyingAt[status]) death.abort();
        if (step === "send" && status === "canceling") throw broken;
      };
    await mover(two.world.context, 1_000).activate(death.signal);
    for (const fake of [two.first, host]) fake.moves.before = async () => undefined;
    const { rows } = await sql<{ id: string; status: string }>`select id, status from moves`.execute(
      two.world.db,
    );
    expect(rows.map((row) => row.status)).toEqual([status]);
    const id = rows[0]?.id ?? "";
    await set("moves", id, DUE);
    return { id, vm };
  };
}

const sandboxes: Readonly<Record<OnTheWay<SandboxStatus, "sandboxes">, Leave>> = {
  creating: sandboxLeft("creating"),
  pausing: sandboxLeft("pausing"),
  resuming: sandboxLeft("resuming"),
  unreachable: sandboxLeft("unreachable"),
  destroying: sandboxLeft("destroying"),
};
const machines: Readonly<Record<OnTheWay<MachineStatus, "machines">, Leave>> = {
  creating: machineLeft("creating"),
  starting: machineLeft("starting"),
  stopping: machineLeft("stopping"),
  destroying: machineLeft("destroying"),
};
const snapshots: Readonly<Record<OnTheWay<SnapshotStatus, "snapshots">, Leave>> = {
  creating: snapshotLeft("creating"),
  deleting: snapshotLeft("deleting"),
};
const builds: Readonly<Record<OnTheWay<BuildStatus, "builds">, Leave>> = {
  queued: buildLeft("queued"),
  building: buildLeft("building"),
  sealing: buildLeft("sealing"),
  freezing: buildLeft("freezing"),
};
const moves: Readonly<Record<OnTheWay<MoveStatus, "moves">, Leave>> = {
  preparing: moveLeft("preparing"),
  sending: moveLeft("sending"),
  resuming: moveLeft("resuming"),
  canceling: moveLeft("canceling"),
};
const tried: Readonly<Record<Table, Readonly<Record<string, Leave>>>> = {
  ...{ sandboxes, machines, snapshots, builds, moves },
};

test("every status that is no rest is tried below", () => {
  const all: Readonly<Record<Table, readonly string[]>> = {
    sandboxes: sandboxStatuses,
    machines: machineStatuses,
    snapshots: Object.keys(snapshotTransitions),
    builds: buildStatuses,
    moves: moveStatuses,
  };
  for (const table of Object.keys(all) as Table[]) {
    const rest: readonly string[] = atRest[table];
    expect(Object.keys(tried[table]).sort()).toEqual(all[table].filter((one) => !rest.includes(one)).sort());
  }
});

const broken = new SkerryError("internal", "The host failed.");

/** Both hosts answer so, whatever they are asked about what they have. */
function breakHosts(): void {
  for (const fake of [two.first, host]) {
    for (const call of ["start", "stop", "egress", "destroy", "execute"] as const)
      fake.failures.set(call, broken);
    for (const step of ["pause", "resume"] as const) fake.pauses.failures.set(step, broken);
    fake.snapshots.failure = fake.snapshots.deletionFailure = broken;
    for (const call of ["seal", "put", "freeze", "delete"] as const)
      fake.templates.failures.set(call, broken);
    fake.moves.before = fake.savedMoves.before = () => Promise.reject(broken);
  }
}

function mendHosts(): void {
  for (const fake of [two.first, host]) {
    fake.failures.clear();
    fake.pauses.failures.clear();
    fake.snapshots.failure = fake.snapshots.deletionFailure = undefined;
    fake.templates.failures.clear();
    fake.moves.before = fake.savedMoves.before = async () => undefined;
  }
}

const FAILING = "control, and its host fails at whatever it is asked";

/** What else has happened. */
const losses: Readonly<Record<string, (left: Left) => Promise<void>>> = {
  control: async () => undefined,
  "control and its QEMU": async ({ vm }) => host.end(vm, "the microVM's QEMU process was killed or crashed"),
  "control and all that its host had": async ({ id, vm }) => {
    host.vms.delete(vm);
    host.disks.delete(vm);
    host.snapshots.kept.delete(id);
  },
  "control and its host, which comes back": async () => {
    await host.stop();
    await two.silence();
    await two.judge();
    await host.start();
    await two.ask();
  },
  [FAILING]: async () => breakHosts(),
};

async function statusOf(table: Table, id: string): Promise<string> {
  return (await rowOf(table, id)).status;
}

async function rowOf(table: Table, id: string): Promise<{ status: string; reason: string | null }> {
  const { rows } = await sql<{ status: string; reason: string | null }>`
    select status, ${sql.raw(table === "builds" ? "error ->> 'message' as" : "")} reason
    from ${sql.table(table)} where id = ${id}`.execute(two.world.db);
  return rows[0] ?? { status: "none", reason: null };
}

/** As many turns of the services as anything is tried at most. */
async function settle(table: Table, id: string): Promise<string> {
  const { context } = two.world;
  for (let turn = 0; turn <= TRIES_MAX; turn += 1) {
    const status = await statusOf(table, id);
    if ((atRest[table] as readonly string[]).includes(status)) return status;
    await set(table, id, table === "builds" || table === "moves" ? DUE : DEAD);
    await two.cleanUp();
    await sandboxReaper(context, 1_000, 30).activate(never);
    await restartQueue(context, 30_000).activate(never);
    if (table === "builds") await builder(context, 1_000).activate(never);
    if (table === "moves") await mover(context, 1_000).activate(never);
  }
  return statusOf(table, id);
}

interface Way {
  readonly table: Table;
  readonly leave: Leave;
}

const ways = new Map<string, Way>(
  (Object.keys(tried) as Table[]).flatMap((table) =>
    Object.entries(tried[table]).map(
      ([status, leave]) => [`${table} that was ${status}`, { table, leave }] as const,
    ),
  ),
);

function wayOf(name: string): Way {
  const way = ways.get(name);
  if (way === undefined) throw new Error(`there is no way ${name}`);
  return way;
}

const pairsOf = (names: readonly string[]) =>
  names.flatMap((name) => Object.keys(losses).map((loss) => [name, loss] as const));
const names = [...ways.keys()];

for (const [name, loss] of covering("no status for ever: rest", pairsOf(names), names.length))
  test(`one of the ${name} without ${loss} comes to rest, and so does its VM`, async () => {
    const { table, leave } = wayOf(name);
    const left = await leave();
    await losses[loss]?.(left);
    expect(atRest[table]).toContain(await settle(table, left.id));
    if (table !== "moves") return;
    expect(atRest.sandboxes).toContain(await settle("sandboxes", left.vm));
  });

const destroyable = names.filter((name) => ["sandboxes", "machines"].includes(wayOf(name).table));
for (const [name, loss] of covering("no status for ever: end", pairsOf(destroyable), destroyable.length))
  test(`one of the ${name} without ${loss} is destroyed at once`, async () => {
    const { table, leave } = wayOf(name);
    const left = await leave();
    await losses[loss]?.(left);
    expect((await two.world.call("DELETE", `/v1/${table}/${left.id}`)).status).toBe(204);
    expect(await settle(table, left.id)).toBe("destroyed");
    if (loss === FAILING) {
      expect((await rowOf(table, left.id)).reason).toContain("its host fails: The host failed.");
      expect(host.vms.has(left.id)).toBe(true);
      mendHosts();
      await set(table, left.id, DUE);
      await two.cleanUp();
    }
    expect(host.vms.has(left.id)).toBe(false);
  });

test("a sandbox whose time ends while its host cannot pause it is destroyed", async () => {
  const { id } = await sandboxLeft("pausing", "ephemeral")();
  breakHosts();
  for (const fake of [two.first, host]) fake.failures.delete("destroy");
  await set("sandboxes", id, "expires_at = now() - interval '1 s'");
  expect([await settle("sandboxes", id), host.vms.has(id)]).toEqual(["destroyed", false]);
});
