// The log of the life of a sandbox or a machine: what is in it, why, and for how long.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import { isId } from "@skerry/contract/ids";
import type { Machine } from "@skerry/contract/machines/machine";
import type { Sandbox, SandboxForks } from "@skerry/contract/sandboxes/sandbox";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import type { VmEvent, VmEventList } from "@skerry/contract/vms/events";
import { expiredRowsSweeper } from "../src/platform/expired-rows-sweeper.ts";
import { restartQueue } from "../src/machines/restart-queue.ts";
import { idlePauser } from "../src/platform/idle-pauser.ts";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { listVmEvents, tellRecurring, type Recurring } from "../src/vms/events/event-store.ts";
import { denial } from "./support/fake-host-state.ts";
import type { FakeHost } from "./support/fake-host.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";
import { eventually, type World } from "./support/world.ts";

let two: TwoHosts;
let world: World;
let host: FakeHost;
beforeEach(async () => {
  two = await TwoHosts.open();
  world = two.world;
  host = two.second;
  await two.onlySecond();
});
afterEach(() => two[Symbol.asyncDispose]());

const pathOf = (id: string, rest: string): string =>
  `/v1/${isId("machine", id) ? "machines" : "sandboxes"}/${id}${rest}`;
const page = async (id: string, query = ""): Promise<VmEventList> =>
  (await world.call<VmEventList>("GET", pathOf(id, `/events${query}`))).body;
const post = <Body>(id: string, rest: string, body: object = {}) =>
  world.call<Body>("POST", pathOf(id, rest), { body });
const persistent = async (more: object = {}): Promise<string> =>
  (await world.createSandbox({ mode: "persistent", ...more })).id;

/** Oldest first, without what the host was asked for. */
async function told(id: string): Promise<(readonly [string, string | null])[]> {
  const { items } = await page(id);
  return items
    .filter(({ kind }) => kind !== "denied")
    .map(({ kind, reason }) => [kind, reason] as const)
    .toReversed();
}

const begun = [
  ["created", "from template base"],
  ["started", null],
] as const;

test("a sandbox's log tells what became of it and why, also when it is destroyed", async () => {
  const id = await persistent();
  await post(id, "/pause");
  await post(id, "/execute", { command: "true" });
  const { body: snapshot } = await post<Snapshot>(id, "/snapshots", { name: "first" });
  const { body: forks } = await post<SandboxForks>(id, "/fork", { count: 2 });
  await post(id, "/rollback", { snapshot: "first" });
  await post(id, "/pause");
  await post(id, "/resume");
  await world.call("DELETE", pathOf(id, ""));
  expect(await told(id)).toEqual([
    ...begun,
    ["paused", "by request"],
    ["resumed", "a call into it"],
    ["snapshotted", `snapshot ${snapshot.id}`],
    ["forked", "into 2"],
    ["rolled_back", `to snapshot ${snapshot.id}`],
    ["paused", "by request"],
    ["resumed", "by request"],
    ["destroyed", "destroyed by request"],
  ]);
  for (const fork of forks.items)
    expect(await told(fork.id)).toEqual([
      ["created", `forked from ${id}`],
      ["started", null],
    ]);
  const { body: next } = await world.call<Sandbox>("POST", "/v1/sandboxes", {
    body: { snapshot: snapshot.id },
  });
  expect((await told(next.id))[0]).toEqual(["created", `from snapshot ${snapshot.id}`]);
});

test("what control does by itself tells why: the end of its time, time without use, and what its host refused", async () => {
  const [expired, idle, full] = [
    await persistent(),
    await persistent({ pause_after_idle: "10m" }),
    await persistent(),
  ];
  const ephemeral = (await world.createSandbox()).id;
  await sql`update sandboxes set expires_at = now() - interval '1 s' where id in (${expired}, ${ephemeral})`.execute(
    world.db,
  );
  await sandboxReaper(world.context, 1_000, 30).activate(never);
  expect((await told(expired)).slice(2)).toEqual([["paused", "its timeout was over"]]);
  expect((await told(ephemeral)).slice(2)).toEqual([["destroyed", "timeout expired"]]);
  host.pauses.unusedMs?.set(idle, 600_000);
  await idlePauser(world.context, 1_000).activate(never);
  expect((await told(idle)).slice(2)).toEqual([["paused", "nothing had used it for 10m"]]);
  host.pauses.failures.set("pause", new SkerryError("disk_full", "The disk is full."));
  await post(full, "/pause");
  expect((await told(full)).slice(2)).toEqual([
    ["pause_failed", "it could not be paused: The disk is full."],
  ]);
  host.pauses.failures.set("resume", new SkerryError("snapshot_damaged", "The file is cut short."));
  await post(idle, "/resume");
  expect((await told(idle)).slice(3)).toEqual([["resume_failed", "The file is cut short."]]);
});

test("a pause that gives up because of a call, and a rollback that cannot begin, are no events", async () => {
  const id = await persistent({ pause_after_idle: "10m" });
  const { body: snapshot } = await post<Snapshot>(id, "/snapshots");
  const before = await told(id);
  host.pauses.unusedMs?.set(id, 600_000);
  host.pauses.before = async () => host.pauses.unusedMs?.clear();
  await idlePauser(world.context, 1_000).activate(never);
  host.snapshots.kept.delete(snapshot.id);
  expect((await post(id, "/rollback", { snapshot: snapshot.id })).status).toBe(404);
  expect(await told(id)).toEqual(before);
});

test("a lost host, its return, an end and a move are told", async () => {
  const [lost, ended] = [await persistent(), await persistent()];
  await two.loseSecond();
  await two.cleanUp();
  expect((await told(lost)).slice(2).map(([kind]) => kind)).toEqual(["unreachable", "returned"]);
  host.end(ended, "the guest panicked");
  await two.cleanUp();
  expect((await told(ended)).at(-1)).toEqual(["failed", "the microVM ended: the guest panicked"]);
  const { body } = await world.call<{ items: { id: string; name: string }[] }>("GET", "/v1/hosts");
  const [from, to] = ["second", "fake"].map((name) => body.items.find((one) => one.name === name)?.id);
  await sql`update sandboxes set host_id = ${to} where id = ${lost}`.execute(world.db);
  const { rows } = await sql<{ reason: string }>`
    select reason from vm_events where vm_id = ${lost} and kind = 'moved'`.execute(world.db);
  expect(rows).toEqual([{ reason: `from host ${from} to ${to}` }]);
});

test("a machine's log tells stops, starts, restarts and ends", async () => {
  const { id } = await world.createMachine({ restart: { policy: "always" } });
  await post<Machine>(id, "/stop");
  await post<Machine>(id, "/start");
  await post<Machine>(id, "/restart");
  host.end(id, null, { cause: "out_of_memory" });
  await two.cleanUp();
  await sql`update restarts set due_at = now()`.execute(world.db);
  await restartQueue(world.context, 30_000).activate(never);
  await world.call("DELETE", pathOf(id, ""));
  expect(await told(id)).toEqual([
    ...begun,
    ["stopped", "stopped by request"],
    ["started", null],
    ["stopped", "stopped to be started again"],
    ["restarted", null],
    ["out_of_memory", "the guest ran out of memory"],
    ["restarted", null],
    ["destroyed", "destroyed by request"],
  ]);
});

test("what is denied is one event for each destination, however often the log is read", async () => {
  const { id } = await world.createSandbox();
  await page(id);
  const { items } = await page(id);
  expect(items.filter(({ kind }) => kind === "denied")).toEqual([
    {
      id: expect.stringMatching(/^evt_/) as string,
      kind: "denied",
      reason: "tcp to 203.0.113.9 port 25, by the rule deny_all",
      ...{ at: denial.last_at, last_at: denial.last_at, count: denial.count },
    },
  ]);
});

test("what 50 destinations were denied is written in one statement, in order, also where the log is full", async () => {
  const { id } = await world.createSandbox();
  const executeQuery = vi.spyOn(world.db.getExecutor(), "executeQuery");
  onTestFinished(() => executeQuery.mockRestore());
  const deny = (from: number, count: number): Recurring[] =>
    Array.from({ length: 50 }, (_, at) => ({
      kind: "denied",
      reason: `tcp to 203.0.113.${from + at} port 25, by the rule deny_all`,
      lastAt: new Date(at * 1_000).toISOString(),
      count: { all: count },
    }));
  const tell = (events: readonly Recurring[]) => tellRecurring(world.db, id, events);
  for (const from of [0, 50, 75]) {
    executeQuery.mockClear();
    await tell(deny(from, from + 1));
    expect(executeQuery).toHaveBeenCalledTimes(1);
  }
  const rows = await listVmEvents(world.db, { orgId: world.orgId, vmId: id, before: undefined, limit: 500 });
  const denied = rows.filter(({ kind }) => kind === "denied").toReversed();
  // 100 are kept; 75 to 99 were told twice.
  expect(denied.map(({ reason, count }) => [reason?.split(" ")[2], Number(count)])).toEqual(
    Array.from({ length: 100 }, (_, at) => [`203.0.113.${25 + at}`, at < 25 ? 1 : at < 50 ? 51 : 76]),
  );
});

test("a host is asked for denials at most once in 10 seconds, and all readers at once get its answer", async () => {
  const { id } = await world.createSandbox();
  const asked = () => host.calls.filter((call) => call === `GET /vms/${id}/egress`).length;
  const destinations = async () =>
    (await page(id)).items.filter(({ kind }) => kind === "denied").map(({ count }) => count);
  const startMs = performance.now();
  const now = vi.spyOn(performance, "now").mockReturnValue(startMs);
  onTestFinished(() => now.mockRestore());
  expect(await Promise.all([destinations(), destinations(), destinations()])).toEqual([[3], [3], [3]]);
  host.denied = [{ ...denial, count: 9 }];
  expect(await destinations()).toEqual([3]);
  expect(asked()).toBe(1);
  now.mockReturnValue(startMs + 60_000);
  expect(await destinations()).toEqual([9]);
  expect(asked()).toBe(2);
});

test("a host that does not answer keeps nobody from reading the log", async () => {
  const { id } = await world.createSandbox();
  host.failures.set("egress", new SkerryError("internal", "broken"));
  expect((await told(id)).length).toBe(2);
  await host.stop();
  expect((await told(id)).length).toBe(2);
});

test("a command that was killed for want of memory is told, and many of them are one event", async () => {
  const { id } = await world.createSandbox();
  const oom = async (): Promise<VmEvent | undefined> =>
    (await page(id)).items.find(({ kind }) => kind === "out_of_memory");
  await post(id, "/execute", { command: "oom" });
  await eventually(async () => (await oom()) !== undefined, "it is told");
  await post(id, "/execute", { command: "oom" });
  await eventually(async () => (await oom())?.count === 2, "both are told");
  expect((await oom())?.reason).toBe("a command was killed");
});

test("the log comes in pages, newest first", async () => {
  const id = await persistent();
  for (let round = 0; round < 3; round += 1) {
    await post(id, "/pause");
    await post(id, "/resume");
  }
  const all = (await page(id)).items.map((event) => event.id);
  const first = await page(id, "?limit=5");
  const second = await page(id, `?limit=5&cursor=${first.next_cursor}`);
  expect([...first.items, ...second.items].map((event) => event.id)).toEqual(all);
  expect(second.next_cursor).toBeNull();
  expect((await world.call("GET", pathOf(id, `/events?cursor=${id}`))).status).toBe(400);
});

test("a status and its event are written together, or neither is", async () => {
  const id = await persistent();
  const before = await told(id);
  await world.db
    .transaction()
    .execute(async (transaction) => {
      await sql`update sandboxes set status = 'failed', reason = 'none' where id = ${id}`.execute(
        transaction,
      );
      throw new Error("the replica dies here");
    })
    .catch(() => undefined);
  expect(await told(id)).toEqual(before);
  // As a version that knows nothing of events writes it.
  await sql`update sandboxes set status = 'failed', reason = 'none' where id = ${id}`.execute(world.db);
  expect(await told(id)).toEqual([...before, ["failed", "none"]]);
});

test("of each sandbox the last 500 events are kept, and a guest's denials leave room for the others", async () => {
  const { id } = await world.createSandbox();
  const tell = (kind: string, times: number) =>
    sql`select tell_vm_event(${world.orgId}, ${id}, ${kind}, n::text, now(), 1) from generate_series(1, ${times}) n`.execute(
      world.db,
    );
  const kept = async (): Promise<Record<string, number>> => {
    const { rows } = await sql<{ kind: string; n: number }>`
      select kind, count(*)::integer as n from vm_events where vm_id = ${id} group by kind`.execute(world.db);
    return Object.fromEntries(rows.map(({ kind, n }) => [kind, n]));
  };
  await tell("denied", 600);
  expect(await kept()).toEqual({ created: 1, started: 1, denied: 100 });
  await tell("paused", 450);
  expect(await kept()).toMatchObject({ paused: 450, denied: 50 });
});

test("the log is forgotten 30 days after the end, and no earlier", async () => {
  const gone = (await world.createSandbox()).id;
  const kept = (await world.createSandbox()).id;
  const running = (await world.createSandbox()).id;
  for (const id of [gone, kept]) await world.call("DELETE", pathOf(id, ""));
  const age = (id: string, days: number) =>
    sql`update vm_events set at = now() - ${days} * interval '1 day' where vm_id = ${id}`.execute(world.db);
  await Promise.all([age(gone, 31), age(kept, 29), age(running, 31)]);
  await expiredRowsSweeper(world.context, 1_000).activate(never);
  const lengths = await Promise.all([gone, kept, running].map(async (id) => (await told(id)).length));
  expect(lengths).toEqual([0, 3, 2]);
});
