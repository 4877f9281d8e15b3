import { spawn } from "node:child_process";
import { once } from "node:events";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Wakeups } from "../src/background/wakeups.ts";
import { Leases } from "../src/background/lease.ts";
import {
  runService,
  type BackgroundService,
  type FencedService,
} from "../src/background/background-service.ts";
import { fencedDatabase, openDatabase } from "../src/db/database.ts";
import { LeaseLostError, type Fence } from "../src/db/fence.ts";
import { listLeases } from "../src/background/list-leases.ts";
import { PausableProxy } from "./support/pausable-proxy.ts";
import { eventually, waitingForLocks, World } from "./support/world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world[Symbol.asyncDispose]());

const never = new AbortController().signal;
const nothing = { examined: 0, changed: 0, failed: 0, more: false };
const deaf = { onReport: () => undefined, onError: () => undefined };

function sweeperThat(activate: BackgroundService["activate"], everyMs = 60_000): FencedService {
  return { fence: { held: undefined }, service: { name: "sweeper", everyMs, activate } };
}

/** The lease of a holder that has died, when its time is over. */
async function lapse(): Promise<void> {
  await sql`update leases set expires_at = now()`.execute(world.db);
}

async function taken(holder: string, fence: Fence = { held: undefined }): Promise<Fence> {
  const lease = await new Leases(world.db, holder).take("sweeper", fence, never);
  if ("waitMs" in lease) throw new Error(`not for another ${lease.waitMs} ms`);
  // Its fence stays as it is: this holder is stopped and renews nothing.
  const { held } = fence;
  lease[Symbol.dispose]();
  fence.held = held;
  return fence;
}

async function userNames(): Promise<string[]> {
  const rows = await world.db.selectFrom("users").select("name").orderBy("id").execute();
  return rows.map((row) => row.name);
}

test("a service goes on after an error, hears a wake-up, and ends when told to", async () => {
  const stop = new AbortController();
  const wakeups = new Wakeups();
  const errors: unknown[] = [];
  let runs = 0;
  const service = sweeperThat(async () => {
    runs += 1;
    if (runs === 3) stop.abort();
    else await wakeups.wake(world.db, "sweeper");
    if (runs === 1) throw new Error("database gone");
    return nothing;
  });
  await runService(service, wakeups.of("sweeper"), {
    stop: stop.signal,
    leases: new Leases(world.db, "here"),
    observer: { onReport: () => undefined, onError: (_, error) => errors.push(error) },
  });
  expect([runs, errors.length]).toEqual([3, 1]);
});

test("of several replicas one runs a service, and a wake-up on another one is heard", async () => {
  const stop = new AbortController();
  const wakeups = [new Wakeups(), new Wakeups(), new Wakeups()];
  let runs = 0;
  let atOnce = 0;
  let mostAtOnce = 0;
  const work = async () => {
    runs += 1;
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    await new Promise((resolve) => setTimeout(resolve, 50));
    atOnce -= 1;
    return nothing;
  };
  const replicas = wakeups.map((own, index) =>
    runService(sweeperThat(work), own.of("sweeper"), {
      stop: stop.signal,
      leases: new Leases(world.db, `replica ${index}`),
      observer: deaf,
    }),
  );
  await eventually(() => runs === 1, "the service runs");
  for (const [index, own] of wakeups.entries()) {
    await own.wake(world.db, "sweeper");
    await eventually(() => runs === index + 2, `replica ${index} is heard`);
  }
  stop.abort();
  await Promise.all(replicas);
  expect([runs, mostAtOnce]).toEqual([4, 1]);
});

test("a wake-up while the service runs makes it run once more", async () => {
  const stop = new AbortController();
  const wakeups = new Wakeups();
  const elsewhere = new Wakeups();
  let runs = 0;
  const service = sweeperThat(async () => {
    runs += 1;
    if (runs === 1) await elsewhere.wake(world.db, "sweeper");
    else stop.abort();
    return nothing;
  });
  await runService(service, wakeups.of("sweeper"), {
    stop: stop.signal,
    leases: new Leases(world.db, "here"),
    observer: deaf,
  });
  expect(runs).toBe(2);
});

test("a wake-up while the database is away is heard once it is back", async () => {
  await using proxy = await PausableProxy.open(world.databaseUrl);
  const db = openDatabase(proxy.databaseUrl, () => undefined);
  const stop = new AbortController();
  const wakeups = new Wakeups();
  let runs = 0;
  const work = async () => {
    runs += 1;
    return nothing;
  };
  // It is the wake-up that it hears, and not its time that has come.
  const service = sweeperThat(work, 3_600_000);
  const running = runService(service, wakeups.of("sweeper"), {
    stop: stop.signal,
    leases: new Leases(db, "here"),
    observer: deaf,
  });
  await eventually(async () => (await listLeases(world.db))[0]?.last_run != null, "the service has run");
  proxy.pause("closed");
  await expect(wakeups.wake(db, "sweeper")).rejects.toThrow();
  proxy.resume();
  await eventually(() => runs === 2, "the wake-up is heard");
  stop.abort();
  await running;
  await db.destroy();
});

test("the lease of a dead holder lapses, one that is only slow keeps it", async () => {
  await taken("dead");
  const waiting = await new Leases(world.db, "next").take("sweeper", { held: undefined }, never);
  expect(waiting).toMatchObject({ waitMs: expect.any(Number) as number });
  await lapse();
  const next = await taken("next");
  expect(next.held?.token).toBe("2");
});

test("a clock that was set back by hours stops no service for so long", async () => {
  await taken("one");
  await sql`
    update leases set expires_at = now() + interval '2 hours 10 s', due_at = now() + interval '2 hours',
                      last_run_at = now() + interval '2 hours'`.execute(world.db);
  await taken("two");
  await sql`update leases set expires_at = now(), due_at = now() + interval '2 hours', last_run_at = now()`.execute(
    world.db,
  );
  await expect(taken("three")).rejects.toThrow("not for another");
});

test("whoever has lost a lease writes nothing any more, and reads what there is", async () => {
  const fence = await taken("slow");
  const slow = fencedDatabase(world.db, fence);
  const before = await userNames();
  await sql`insert into users (id, name) values ('usr_1', 'in time')`.execute(slow);
  await lapse();
  await sql`insert into users (id, name) values ('usr_2', 'lapsed, but nobody else has it')`.execute(slow);
  await taken("quick");
  const late = [
    sql`insert into users (id, name) values ('usr_3', 'late')`.execute(slow),
    sql`with found as (select 1) update users set name = 'late'`.execute(slow),
    slow.deleteFrom("users").execute(),
    slow.transaction().execute((transaction) => sql`delete from users`.execute(transaction)),
  ];
  for (const result of await Promise.allSettled(late)) {
    expect(result).toMatchObject({ status: "rejected", reason: expect.any(LeaseLostError) as unknown });
  }
  const names = await slow.selectFrom("users").select("name").orderBy("id").execute();
  expect(names.map((row) => row.name)).toEqual(await userNames());
  expect(names).toHaveLength(before.length + 2);
});

test("outside of an activation a service writes nothing", async () => {
  const db = fencedDatabase(world.db, { held: undefined });
  await expect(sql`delete from users`.execute(db)).rejects.toThrow(LeaseLostError);
});

test("a lease is not handed on in the middle of its holder's transaction", async () => {
  const fence = await taken("slow");
  await lapse();
  const order: string[] = [];
  let quick: Promise<void> | undefined;
  await fencedDatabase(world.db, fence)
    .transaction()
    .execute(async (transaction) => {
      quick = taken("quick").then(() => void order.push("handed on"));
      await eventually(async () => (await waitingForLocks(world.db)) > 0, "the other one waits");
      await sql`insert into users (id, name) values ('usr_1', 'slow')`.execute(transaction);
      order.push("written");
    });
  await quick;
  expect(order).toEqual(["written", "handed on"]);
});

test("a holder that is stopped in the middle of a transaction neither keeps its lease for ever nor writes when it wakes up", async () => {
  const script = new URL("support/lease-holder.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [script, world.databaseUrl, "sweeper"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  try {
    await eventually(() => output.includes("writing"), "it is in the middle");
    child.kill("SIGSTOP");
    await lapse();
    await eventually(
      () =>
        taken("successor").then(
          () => true,
          () => false,
        ),
      "its lease is handed on",
    );
    child.kill("SIGUSR1");
    child.kill("SIGCONT");
    await eventually(() => output.includes("statement"), "it has gone on");
    expect(output).toContain("transaction refused");
    expect(output).toContain("statement LeaseLostError");
    expect(await userNames()).not.toContain("of the transaction");
  } finally {
    child.kill("SIGKILL");
    if (child.exitCode === null) await once(child, "exit");
  }
});

test("how the last run went is kept for every replica to read", async () => {
  const stop = new AbortController();
  const db = openDatabase(world.databaseUrl, () => undefined);
  const wakeups = new Wakeups();
  let runs = 0;
  const seen: unknown[] = [];
  const service = sweeperThat(async () => {
    seen.push((await listLeases(world.db))[0]);
    runs += 1;
    if (runs === 3) stop.abort();
    else await wakeups.wake(db, "sweeper");
    if (runs === 2) throw new Error("not today");
    return { ...nothing, examined: 7, changed: 3 };
  });
  await runService(service, wakeups.of("sweeper"), {
    stop: stop.signal,
    leases: new Leases(db, "here"),
    observer: deaf,
  });
  await db.destroy();
  expect(seen).toMatchObject([
    { name: "sweeper", running: true, last_run: null },
    { running: true, last_run: { holder: "here", examined: 7, changed: 3, failed: 0 } },
    { running: true, last_run: { holder: "here", error: "Error: not today" } },
  ]);
  expect(await listLeases(world.db)).toMatchObject([{ running: false, last_run: { examined: 7 } }]);
});
