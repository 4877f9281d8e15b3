// What begins from a snapshot whose host is full: the snapshot goes to a host that has room, on fake hosts.

import { afterEach, beforeEach, expect, test } from "vitest";
import { sql } from "kysely";
import { SkerryError } from "@skerry/contract/errors";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import { mover } from "../src/moves/mover.ts";
import type { FakeHost } from "./support/fake-host.ts";
import { compatibility } from "./support/fake-moves.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";
import type { Answer } from "./support/world.ts";

let two: TwoHosts;
let source: string;
let snapshot: string;

beforeEach(async () => {
  two = await TwoHosts.open();
  await two.ask();
  source = await two.sandboxOn(two.first);
  snapshot = (await two.world.call<Snapshot>("POST", `/v1/sandboxes/${source}/snapshots`)).body.id;
  await fill(two.first);
});

afterEach(() => two[Symbol.asyncDispose]());

async function hostId({ name }: FakeHost): Promise<string> {
  const row = await two.world.db
    .selectFrom("hosts")
    .select("id")
    .where("name", "=", name)
    .executeTakeFirstOrThrow();
  return row.id;
}

/** As if others had taken all of its memory. */
async function fill(fake: FakeHost): Promise<void> {
  await sql`
    insert into capacity_entries (account, sandboxes, machines, vcpus, memory_mib, disk_gib)
    values (${await hostId(fake)}, 0, 0, 0, 4096, 0)`.execute(two.world.db);
}

/** The others have gone. */
async function empty(): Promise<void> {
  await sql`delete from capacity_entries where memory_mib = 4096`.execute(two.world.db);
}

async function onFirst(create: () => Promise<{ readonly id: string }>): Promise<string> {
  for (let tries = 0; tries < 20; tries += 1) {
    const { id } = await create();
    if (two.first.vms.has(id)) return id;
  }
  throw new Error("nothing was placed on the first host");
}

async function hasEnded(call: Promise<unknown>): Promise<boolean> {
  const pending = Symbol("pending");
  return (await Promise.race([call, new Promise((resolve) => setTimeout(resolve, 20, pending))])) !== pending;
}

/** Answers a call while the mover is at work. */
async function carried<Body>(call: Promise<Answer<Body>>): Promise<Answer<Body>> {
  while (!(await hasEnded(call))) await mover(two.world.context, 1_000).activate(never);
  return call;
}

function create(): Promise<Answer<Sandbox & { code: string }>> {
  return two.world.call("POST", "/v1/sandboxes", { body: { snapshot } });
}

async function expectSnapshotOn(fake: FakeHost): Promise<void> {
  const { host_id } = (await two.world.call<Snapshot>("GET", `/v1/snapshots/${snapshot}`)).body;
  expect(host_id).toBe(await hostId(fake));
  for (const one of [two.first, two.second]) expect(one.snapshots.kept.has(snapshot)).toBe(one === fake);
}

test("a sandbox begins where there is room, and the snapshot has gone there", async () => {
  const created = await carried(create());
  expect([created.status, created.body.host_id]).toEqual([201, await hostId(two.second)]);
  await mover(two.world.context, 1_000).activate(never);
  await expectSnapshotOn(two.second);
  // The next one finds it there.
  expect((await create()).status).toBe(201);
});

test("many at once go there with one move", async () => {
  const created = await carried(Promise.all(Array.from({ length: 5 }, create)).then((all) => all as never));
  const answers = created as unknown as Answer<Sandbox>[];
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
  const moves = await two.world.db.selectFrom("moves").select("status").execute();
  expect(moves).toEqual([{ status: "done" }]);
});

test("an organization has two snapshots at once carried from a host, and others more later", async () => {
  await empty();
  const strange = { token: await two.world.strangerToken() };
  const theirs = await onFirst(() =>
    two.world
      .call<Sandbox>("POST", "/v1/sandboxes", { body: { template: "base" }, ...strange })
      .then(({ body }) => body),
  );
  const take = async (of: string, more = {}) =>
    (await two.world.call<Snapshot>("POST", `/v1/sandboxes/${of}/snapshots`, more)).body.id;
  const ours = [snapshot, await take(source), await take(source), await take(source), await take(source)];
  const their = await take(theirs, strange);
  await fill(two.first);
  const begin = (from: string, more = {}) =>
    two.world.call<Sandbox & { code: string }>("POST", "/v1/sandboxes", {
      body: { snapshot: from },
      ...more,
    });
  // Nothing travels yet, as no mover is at work.
  const calls = ours.map((one) => begin(one));
  const refused = await Promise.race([Promise.all(calls), threeRefused(calls)]);
  expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
    Array.from({ length: 3 }, () => [503, "no_capacity"]),
  );
  const underWay = await two.world.db.selectFrom("moves").select("vm_id").execute();
  expect(underWay).toHaveLength(2);
  expect((await carried(begin(their, strange))).status).toBe(201);
  const answers = await Promise.all(calls);
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(2);
  await mover(two.world.context, 1_000).activate(never);
  const left = ours.find((one) => !underWay.some(({ vm_id }) => vm_id === one)) ?? "";
  expect((await carried(begin(left))).status).toBe(201);
});

/** The answers of the first three calls that are refused. */
function threeRefused<Body>(calls: readonly Promise<Answer<Body>>[]): Promise<Answer<Body>[]> {
  const refused: Answer<Body>[] = [];
  const all = Promise.withResolvers<Answer<Body>[]>();
  for (const call of calls)
    void call.then((answer) => {
      if (answer.status >= 400) refused.push(answer);
      if (refused.length === 3) all.resolve(refused);
    }, all.reject);
  return all.promise;
}

test("where the other host is full as well the answer is no_capacity, and nothing travels", async () => {
  await fill(two.second);
  const refused = await carried(create());
  expect([refused.status, refused.body.code]).toEqual([503, "no_capacity"]);
  await expectSnapshotOn(two.first);
});

test("a host with room that could not run it does not get it", async () => {
  two.second.savedMoves.runsHere = { ...compatibility, accelerator: "kvm" };
  await two.ask(two.second.socketPath);
  expect((await carried(create())).body.code).toBe("no_capacity");
  await expectSnapshotOn(two.first);
});

test("where the files do not get there the sandbox does not begin, and the snapshot stays", async () => {
  two.first.savedMoves.before = async (step) => {
    if (step === "send") throw new SkerryError("internal", "the disk is on fire");
  };
  expect((await carried(create())).body.code).toBe("no_capacity");
  await expectSnapshotOn(two.first);
});

test("a fork begins on the other host with all of its sandboxes, and leaves no snapshot on either", async () => {
  const call = two.world.call<{ items: Sandbox[] }>("POST", `/v1/sandboxes/${source}/fork`, {
    body: { count: 3 },
  });
  const { status, body } = await carried(call);
  expect(status).toBe(201);
  const second = await hostId(two.second);
  expect(body.items.map(({ host_id }) => host_id)).toEqual([second, second, second]);
  for (const { id } of body.items) expect(two.second.vms.get(id)?.status).toBe("running");
  await mover(two.world.context, 1_000).activate(never);
  await two.cleanUp();
  expect([two.first.snapshots.kept.size, two.second.snapshots.kept.size]).toEqual([1, 0]);
});

test("a fork whose files do not get there leaves nothing", async () => {
  two.first.savedMoves.before = async (step) => {
    if (step === "send") throw new SkerryError("internal", "the disk is on fire");
  };
  const call = two.world.call("POST", `/v1/sandboxes/${source}/fork`, { body: { count: 2 } });
  const { status } = await carried(call);
  expect(status).toBe(503);
  await two.cleanUp();
  expect([two.first.snapshots.kept.size, two.second.snapshots.kept.size, two.second.vms.size]).toEqual([
    1, 0, 0,
  ]);
});

test("a rollback brings the snapshot to the host of the sandbox", async () => {
  const other = await two.sandboxOn(two.second);
  const rolledBack = await carried(
    two.world.call<Sandbox>("POST", `/v1/sandboxes/${other}/rollback`, { body: { snapshot } }),
  );
  expect([rolledBack.status, rolledBack.body.host_id]).toEqual([200, await hostId(two.second)]);
  await mover(two.world.context, 1_000).activate(never);
  await expectSnapshotOn(two.second);
});

/** Resolves when a query waits for a lock, or the call has ended. */
async function waitsForLock(call: Promise<unknown>): Promise<void> {
  while (!(await hasEnded(call))) {
    const { rows } = await sql`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      two.world.db,
    );
    if (rows.length > 0) return;
  }
}

/** The end of a move to the other host, at the very moment at which the rollback begins. */
async function rolledBackWhileItLeaves(path: string): Promise<Answer<{ status: string }>> {
  const to = await hostId(two.second);
  let call: Promise<Answer<{ status: string }>> | undefined;
  await two.world.db.transaction().execute(async (transaction) => {
    await sql`update snapshots set host_id = ${to}, version = version + 1 where id = ${snapshot}`.execute(
      transaction,
    );
    call = two.world.call("POST", `${path}/rollback`, { body: { snapshot } });
    await waitsForLock(call);
    const kept = two.first.snapshots.kept.get(snapshot);
    if (kept !== undefined) two.second.snapshots.kept.set(snapshot, kept);
    two.first.snapshots.kept.delete(snapshot);
  });
  if (call === undefined) throw new Error("the rollback was not asked for");
  return carried(call);
}

for (const status of ["running", "paused"]) {
  test(`a snapshot that leaves as a sandbox that is ${status} goes back to it is brought back first`, async () => {
    await empty();
    const id = await onFirst(() => two.world.createSandbox({ mode: "persistent" }));
    if (status === "paused")
      expect((await two.world.call("POST", `/v1/sandboxes/${id}/pause`)).status).toBe(200);
    const rolledBack = await rolledBackWhileItLeaves(`/v1/sandboxes/${id}`);
    expect([rolledBack.status, rolledBack.body.status]).toEqual([200, "running"]);
    await mover(two.world.context, 1_000).activate(never);
    await expectSnapshotOn(two.first);
  });
}

test("a snapshot that leaves as a machine goes back to it is brought back first", async () => {
  await empty();
  const machine = await onFirst(() => two.world.createMachine({ command: "exec count" }));
  snapshot = (await two.world.call<Snapshot>("POST", `/v1/machines/${machine}/snapshots`)).body.id;
  const rolledBack = await rolledBackWhileItLeaves(`/v1/machines/${machine}`);
  expect([rolledBack.status, rolledBack.body.status]).toEqual([200, "running"]);
  await mover(two.world.context, 1_000).activate(never);
  await expectSnapshotOn(two.first);
});

test("a snapshot that is deleted while it travels is on neither host, and nothing begins from it", async () => {
  two.first.savedMoves.after = async (step) => {
    if (step !== "send") return;
    expect((await two.world.call("DELETE", `/v1/snapshots/${snapshot}`)).status).toBe(204);
  };
  const refused = await carried(create());
  expect(refused.status).toBeGreaterThanOrEqual(400);
  expect([two.first.snapshots.kept.size, two.second.snapshots.kept.size]).toEqual([0, 0]);
});
