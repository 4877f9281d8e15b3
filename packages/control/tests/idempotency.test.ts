// Idempotency-Key: what may be sent twice is done once, whichever replica is asked and whichever of them dies.

import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { expiredRowsSweeper } from "../src/platform/expired-rows-sweeper.ts";
import { SkerryError } from "@skerry/contract/errors";
import { openReplica, startControl, type Replica } from "./support/replica.ts";
import { type Answer, eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let other: Replica;
beforeAll(async () => {
  world.host.memoryMib = 1_000_000;
  await world.beat();
  other = await openReplica(world);
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
});

interface CreateOptions {
  readonly body?: object;
  readonly token?: string;
  readonly url?: string;
}

function create(
  key: string,
  { body = { template: "base" }, ...options }: CreateOptions = {},
): Promise<Answer<Sandbox>> {
  return world.call<Sandbox>("POST", "/v1/sandboxes", {
    body,
    headers: { "idempotency-key": key },
    ...options,
  });
}

async function sandboxCount(): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::integer from sandboxes`.execute(world.db);
  return rows[0]?.count ?? 0;
}

function replayed(answer: Answer<unknown>): string | null {
  return answer.headers.get("idempotent-replayed");
}

/** Moves on the clock of everything that waits for a dead process. */
async function letClaimsLapse(): Promise<void> {
  await sql`update idempotency_keys set claimed_until = now() - interval '1 second'`.execute(world.db);
  await sql`update sandboxes set claimed_until = now() - interval '1 second' where claimed_until is not null`.execute(
    world.db,
  );
}

/** Holds every placement until it is released, or the test ends. */
async function holdPlacement(): Promise<AsyncDisposable & { release(): Promise<void> }> {
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holding = world.db.transaction().execute(async (transaction) => {
    await sql`select 1 from hosts for update`.execute(transaction);
    held.resolve();
    await release.promise;
  });
  await held.promise;
  const end = () => {
    release.resolve();
    return holding;
  };
  return { release: end, [Symbol.asyncDispose]: end };
}

/** Heartbeats wait for hosts as well. */
async function placementsWaiting(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
      and query like '%for no key update of hosts%'`.execute(world.db);
  return rows[0]?.count ?? 0;
}

test("the same request with the same key is one sandbox, and the first answer again, on every replica", async () => {
  const before = await sandboxCount();
  const key = randomUUID();
  const body = { template: "base", metadata: { a: "1", b: "2" }, timeout: "10m" };
  const first = await create(key, { body });
  expect([first.status, replayed(first)]).toEqual([201, null]);
  await world.call("DELETE", `/v1/sandboxes/${first.body.id}`);
  const reordered = { timeout: "10m", metadata: { b: "2", a: "1" }, template: "base" };
  for (const url of [world.url, other.url]) {
    const again = await create(key, { body: reordered, url });
    expect([again.status, replayed(again), again.body]).toEqual([201, "true", first.body]);
  }
  expect(await sandboxCount()).toBe(before + 1);
});

test("a key that stands for another request is refused, and nothing is created", async () => {
  const key = randomUUID();
  await create(key);
  const before = await sandboxCount();
  const otherBody = await create(key, { body: { template: "base", name: "other" }, url: other.url });
  expect([otherBody.status, otherBody.body]).toMatchObject([409, { code: "idempotency_conflict" }]);
  const otherPath = await world.call("POST", "/v1/auth/tokens", {
    body: { template: "base" },
    headers: { "idempotency-key": key },
  });
  expect(otherPath.status).toBe(400);
  const otherCreation = await world.call("POST", "/v1/auth/tokens", {
    body: {},
    headers: { "idempotency-key": key },
  });
  expect([otherCreation.status, otherCreation.body["code"]]).toEqual([409, "idempotency_conflict"]);
  expect(await sandboxCount()).toBe(before);
});

test("thirty requests at once with one key, over two replicas, are one sandbox and thirty equal answers", async () => {
  const before = await sandboxCount();
  const key = randomUUID();
  const arrived = Promise.withResolvers<void>();
  const hold = Promise.withResolvers<void>();
  world.host.beforeStart = async () => {
    arrived.resolve();
    await hold.promise;
  };
  const requests = Array.from({ length: 30 }, (_, n) =>
    create(key, { url: n % 2 === 0 ? world.url : other.url }),
  );
  await arrived.promise;
  hold.resolve();
  const answers = await Promise.all(requests);
  world.host.beforeStart = async () => undefined;
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 30 }, () => 201));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(answers.filter((answer) => replayed(answer) === null)).toHaveLength(1);
  expect(await sandboxCount()).toBe(before + 1);
});

test("who waits too long for the first request is told so, and when to come again", async () => {
  const hold = Promise.withResolvers<void>();
  world.host.beforeStart = () => hold.promise;
  const key = randomUUID();
  const first = create(key);
  await eventually(async () => (await ledgerOf(key))?.resource_id != null, "the first has begun");
  await using impatient = await openReplica(world, {
    limits: { ...world.context.limits, idempotencyWaitMs: 500 },
  });
  const second = await create(key, { url: impatient.url });
  hold.resolve();
  world.host.beforeStart = async () => undefined;
  expect([second.status, second.body]).toMatchObject([409, { code: "idempotency_in_progress" }]);
  expect(second.headers.get("retry-after")).toBe("2");
  expect((await create(key)).body).toEqual((await first).body);
});

test("keys of two organizations have nothing to do with each other", async () => {
  const key = randomUUID();
  const [mine, theirs] = [await create(key), await create(key, { token: await world.strangerToken() })];
  expect([mine.status, theirs.status, replayed(theirs)]).toEqual([201, 201, null]);
  expect(theirs.body.id).not.toBe(mine.body.id);
});

test("a creation that failed gives its key back, so that the retry is a real one", async () => {
  const key = randomUUID();
  world.host.failures.set("start", new SkerryError("host_unavailable", "The host is tired."));
  expect((await create(key)).status).toBe(503);
  world.host.failures.clear();
  const retry = await create(key);
  expect([retry.status, replayed(retry)]).toEqual([201, null]);
  const impossible = randomUUID();
  expect((await create(impossible, { body: { template: "nonesuch" } })).status).toBe(422);
  expect(await ledgerOf(impossible)).toBeUndefined();
});

test.each([
  ["empty", ""],
  ["two words", "a b"],
  ["longer than 255 characters", "k".repeat(256)],
  ["not ASCII", "schl\u00fcssel"],
])("a key that is %s is refused, and nothing is created", async (_what, key) => {
  const before = await sandboxCount();
  const answer = await create(key);
  expect([answer.status, answer.body]).toMatchObject([400, { context: { header: "Idempotency-Key" } }]);
  expect(await sandboxCount()).toBe(before);
});

test("a repeated mint shows the same secret again, to the token that asked and to no other", async () => {
  const headers = { "idempotency-key": randomUUID() };
  const mint = (token = world.token) =>
    world.call<{ token: string }>("POST", "/v1/auth/tokens", { body: { name: "once" }, headers, token });
  const first = await mint();
  const again = await mint();
  expect([again.status, replayed(again), again.body]).toEqual([201, "true", first.body]);
  const sibling = await mint(first.body.token);
  expect([sibling.status, sibling.body]).toMatchObject([409, { code: "idempotency_conflict" }]);
  expect(sibling.text).not.toContain(first.body.token);
});

test("whoever reads the ledger finds neither a token nor an environment in it", async () => {
  const secret = "hunter2hunter2";
  await create(randomUUID(), { body: { template: "base", env: { PASSWORD: secret } } });
  const { body } = await world.call<{ token: string }>("POST", "/v1/auth/tokens", {
    body: {},
    headers: { "idempotency-key": randomUUID() },
  });
  const { rows } = await sql`select *, encode(answer, 'escape') as readable from idempotency_keys`.execute(
    world.db,
  );
  expect(rows.length).toBeGreaterThan(1);
  const text = JSON.stringify(rows);
  for (const hidden of [secret, body.token, body.token.slice(3)]) expect(text).not.toContain(hidden);
});

test("when control is killed while the microVM starts, the retry ends with one sandbox that works", async () => {
  const victim = await startControl(world);
  const key = randomUUID();
  const arrived = Promise.withResolvers<string>();
  const hold = Promise.withResolvers<void>();
  world.host.beforeStart = async (id) => {
    arrived.resolve(id);
    await hold.promise;
  };
  const lost = expect(create(key, { url: victim.url })).rejects.toThrow();
  const dead = await arrived.promise;
  await victim.kill();
  await lost;
  world.host.beforeStart = async () => undefined;
  hold.resolve();
  await eventually(() => world.host.vms.has(dead), "the host starts it although nobody waits");

  await using successor = await startControl(world, { SKERRY_VM_CLEANUP_INTERVAL_MS: "3600000" });
  const retry = create(key, { url: successor.url });
  await letClaimsLapse();
  const answer = await retry;
  expect([answer.status, replayed(answer)]).toEqual([201, null]);
  expect(answer.body.id).not.toBe(dead);
  await eventually(() => !world.host.vms.has(dead), "the first attempt's microVM is removed");
  expect((await world.call("GET", `/v1/sandboxes/${dead}`)).body["status"]).toBe("failed");
  expect((await create(key)).body).toEqual(answer.body);
});

test("when control is killed before it has written anything, the retry starts over", async () => {
  const victim = await startControl(world);
  const before = await sandboxCount();
  const key = randomUUID();
  await using hold = await holdPlacement();
  const lost = expect(create(key, { url: victim.url })).rejects.toThrow();
  await eventually(async () => (await placementsWaiting()) === 1, "it waits for its place");
  await victim.kill();
  await lost;
  await hold.release();
  await letClaimsLapse();
  expect((await create(key)).status).toBe(201);
  expect(await sandboxCount()).toBe(before + 1);
});

test("when control dies between success and answer, the retry gets that sandbox", async () => {
  const key = randomUUID();
  const first = await create(key);
  await sql`update idempotency_keys set answer = null, token_id = null where key = ${key}`.execute(world.db);
  const again = await create(key, { url: other.url });
  expect([again.status, replayed(again), again.body]).toEqual([201, "true", first.body]);
  await world.call("DELETE", `/v1/sandboxes/${first.body.id}`);
  expect((await create(key)).body).toEqual(first.body);
});

test("an attempt that was taken for dead writes nothing any more", async () => {
  const before = await sandboxCount();
  const key = randomUUID();
  await using hold = await holdPlacement();
  const slow = create(key);
  await eventually(async () => (await placementsWaiting()) === 1, "the first waits for its place");
  await letClaimsLapse();
  const quick = create(key, { url: other.url });
  await eventually(async () => (await placementsWaiting()) === 2, "the second has taken over");
  await hold.release();
  const [late, good] = await Promise.all([slow, quick]);
  expect([late.status, late.body]).toMatchObject([409, { code: "idempotency_in_progress" }]);
  expect(good.status).toBe(201);
  expect(await sandboxCount()).toBe(before + 1);
});

test("a key is forgotten after 24 hours, also before the sweeper has come by", async () => {
  const [kept, reused, swept] = [randomUUID(), randomUUID(), randomUUID()];
  const answers = await Promise.all([create(kept), create(reused), create(swept)]);
  await sql`update idempotency_keys set created_at = now() - interval '23 hours 59 minutes' where key = ${kept}`.execute(
    world.db,
  );
  await sql`
    update idempotency_keys set created_at = now() - interval '24 hours 1 second'
    where key in (${reused}, ${swept})`.execute(world.db);
  expect((await create(kept)).body).toEqual(answers[0].body);
  const later = await create(reused, { body: { template: "base", name: "later" } });
  expect([later.status, later.body.name]).toEqual([201, "later"]);
  // The answer of its new use is kept like that of the first.
  expect((await create(reused, { body: { template: "base", name: "later" } })).body).toEqual(later.body);
  const report = await expiredRowsSweeper(world.context, 1_000).activate(new AbortController().signal);
  expect(report).toEqual({ examined: 1, changed: 1, failed: 0, more: false });
  expect([await ledgerOf(swept), (await ledgerOf(kept))?.resource_id]).toEqual([
    undefined,
    answers[0].body.id,
  ]);
});

test("the document offers the key for every creation, and for nothing else", async () => {
  const { body } = await world.call<{ paths: Record<string, Record<string, Operation>> }>(
    "GET",
    "/v1/openapi.json",
  );
  const operations = Object.values(body.paths).flatMap((path) => Object.values(path));
  // A command that is to run on by itself is created as well, by the call that also runs commands to their end.
  const creations = operations.filter(
    ({ responses }) => Object.hasOwn(responses, "201") || responses["200"]?.["x-when-asked"] !== undefined,
  );
  expect(creations.length).toBeGreaterThan(1);
  const keyed = operations.filter(({ parameters = [] }) =>
    parameters.some(({ name }) => name === "Idempotency-Key"),
  );
  expect(keyed).toEqual(creations);
});

interface Operation {
  readonly responses: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly parameters?: readonly { readonly name: string }[];
}

async function ledgerOf(key: string): Promise<{ resource_id: string | null } | undefined> {
  const { rows } = await sql<{ resource_id: string | null }>`
    select resource_id from idempotency_keys where key = ${key}`.execute(world.db);
  return rows[0];
}
