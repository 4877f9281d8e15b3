// What of the build cache stays, and for how long, with a host that pretends to build.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { BuildLog } from "@skerry/contract/builds/build-log";
import type { ClearedCache } from "@skerry/contract/builds/build-cache";
import { SkerryError } from "@skerry/contract/errors";
import { builder } from "../src/builds/builder.ts";
import { clearCached, keepWithinBudgets, takeCached } from "../src/builds/cache-store.ts";
import { activateBuilder, builtTemplate, buildNow, newBuild, untilBuild } from "./support/builds.ts";
import {
  cachedIn,
  cleanUpCache,
  forgetBuilds,
  gib,
  hits,
  LAYER_BYTES,
  readyVersions,
} from "./support/build-cache.ts";
import { Members } from "./support/members.ts";
import { eventually, useWorld, waitingForLocks } from "./support/world.ts";

const world = useWorld({ buildCacheGib: 20 });
const { templates } = world.host;

afterEach(() => forgetBuilds(world));

const cleanUp = (limits: Partial<typeof world.context.limits> = {}) => cleanUpCache(world, limits);
const cached = () => cachedIn(world);

test("what was not used for a week is removed from its host, and what a build begins on is not", async () => {
  const steps = [{ run: "install" }, { run: "one" }];
  await builtTemplate(world, { steps });
  const old = async () =>
    sql`update build_cache set last_used_at = now() - interval '8 days'`.execute(world.db);
  const waiting = await newBuild(world, {
    context: true,
    steps: [{ run: "install" }, { copy: { from: "a", to: "/a" } }],
  });
  expect(hits(waiting)[0]).toBe(true);
  await old();
  expect(await cleanUp()).toMatchObject({ changed: 1, failed: 0 });
  expect(await cached()).toMatchObject([{ name: "install", in_use: true }]);
  await world.call("POST", `/v1/builds/${waiting.id}/cancel`);
  await cleanUp();
  expect(await cached()).toEqual([]);
  expect([...templates.kept.keys()]).toEqual(await readyVersions(world));
});

test("what was used longest ago gives way where there is no room", async () => {
  const build = (name: string) => builtTemplate(world, { name, steps: [{ run: name }] });
  for (const name of ["a", "b", "c"]) await build(name);
  await builtTemplate(world, { steps: [{ run: "a" }, { run: "d" }] });
  await cleanUp({ buildCacheGib: gib(3.5) });
  expect((await cached()).map(({ name }) => name)).toEqual(["d", "c", "a"]);
  await cleanUp({ buildCacheHostGib: gib(2.5) });
  expect((await cached()).map(({ name }) => name)).toEqual(["d", "a"]);
  // A host that does not answer keeps its part until it does.
  templates.failures.set("delete", new SkerryError("host_unavailable", "away"));
  expect(await cleanUp({ buildCacheGib: 0 })).toMatchObject({ examined: 2, failed: 2 });
  expect(await cached()).toEqual([]);
  templates.failures.clear();
  expect(await cleanUp()).toMatchObject({ examined: 2, changed: 2 });
});

test("an entry counts with all that it keeps on its host, also what was cached by others before", async () => {
  await builtTemplate(world, { steps: [{ run: "large" }, { run: "one" }] });
  const [one, large] = await cached();
  // What `large` has left is large, and its own entry is gone.
  await sql`
    update build_cache set image = jsonb_set(image, '{layers,1,bytes}', ${String(20 * LAYER_BYTES)}::jsonb)`.execute(
    world.db,
  );
  await sql`update build_cache set bytes = ${20 * LAYER_BYTES} where id = ${large?.id}`.execute(world.db);
  await cleanUp({ buildCacheGib: gib(21) });
  expect(await cached()).toHaveLength(2);
  await sql`update build_cache set last_used_at = now() - interval '8 days' where id = ${large?.id}`.execute(
    world.db,
  );
  await cleanUp({ buildCacheGib: gib(21) });
  expect((await cached()).map(({ id }) => id)).toEqual([one?.id]);
  await cleanUp({ buildCacheGib: gib(20.5), buildCacheHostGib: gib(100) });
  expect(await cached()).toEqual([]);
});

test("one host's copy of a layer counts beside another one's, and what two entries of a host share counts once", async () => {
  await builtTemplate(world, { steps: [{ run: "install" }, { run: "one" }] });
  await builtTemplate(world, { steps: [{ run: "install" }, { run: "two" }] });
  await cleanUp({ buildCacheGib: gib(3), buildCacheHostGib: gib(3) });
  expect(await cached()).toHaveLength(3);
  await sql`
    insert into hosts select (jsonb_populate_record(hosts, '{"id": "host_other", "name": "other", "address": "unix:/nowhere"}')).* from hosts`.execute(
    world.db,
  );
  await sql`update build_cache set host_id = 'host_other' where name = 'two'`.execute(world.db);
  // `two` stands on a copy of what `install` has left, and `one` would be too much.
  await keepWithinBudgets(world.db, { buildCacheGib: gib(3), buildCacheHostGib: gib(3) });
  expect((await cached()).map(({ name }) => name)).toEqual(["two", "install"]);
  await sql`delete from build_cache`.execute(world.db);
  await sql`delete from hosts where id = 'host_other'`.execute(world.db);
});

test("a step that is kept makes room at once, and is not kept where it cannot have enough", async () => {
  const limits = { ...world.context.limits, buildCacheGib: gib(2) };
  const activate = async () =>
    builder({ ...world.context, limits }, 1_000).activate(new AbortController().signal);
  await newBuild(world, { name: "a", steps: [{ run: "a" }, { run: "b" }] });
  await activate();
  expect((await cached()).map(({ name }) => name)).toEqual(["b", "a"]);
  world.rung.length = 0;
  await newBuild(world, { name: "c", steps: [{ run: "c" }] });
  await activate();
  // `b` stands on `a`: with `c` the two of them have no room.
  expect((await cached()).map(({ name }) => name)).toEqual(["c"]);
  expect(world.rung).toContain("build-cache-cleanup");
  // What a build begins on stays, so there is too little room for what is new.
  limits.buildCacheGib = gib(1.5);
  const held = await newBuild(world, {
    context: true,
    steps: [{ run: "c" }, { copy: { from: "a", to: "/a" } }],
  });
  expect(hits(held)[0]).toBe(true);
  const { id } = await newBuild(world, { name: "d", steps: [{ run: "d" }] });
  await activate();
  const { body } = await world.call<BuildLog>("GET", `/v1/builds/${id}/logs`);
  expect(body.lines.map(({ text }) => text)).toContain(
    "This step is not cached: The build cache has no room for it and all that it stands on.",
  );
  expect(await buildNow(world, id)).toMatchObject({ status: "ready" });
  expect(await cached()).toMatchObject([{ name: "c", in_use: true }]);
});

test("entries whose layers a host has lost are forgotten", async () => {
  await builtTemplate(world, { steps: [{ run: "install" }, { run: "one" }] });
  const [one, install] = await cached();
  const top = templates.kept.get(String(one?.id))?.image.layers.at(-1);
  templates.layers.delete(String(top?.digest));
  await cleanUp();
  expect((await cached()).map(({ id }) => id)).toEqual([install?.id]);
  // A host that does not answer is not judged.
  templates.failures.set("list", new SkerryError("host_unavailable", "away"));
  await cleanUp();
  expect(await cached()).toHaveLength(1);
});

test("what a build is taking at this moment is not removed", async () => {
  await builtTemplate(world, { steps: [{ run: "install" }, { run: "one" }] });
  const { id } = await newBuild(world, { name: "other" });
  await sql`update build_cache set last_used_at = now() - interval '8 days'`.execute(world.db);
  const { rows: before } = await sql<{ id: string; host_id: string; key: string }>`
    select id, host_id, key from build_cache where name = 'one'`.execute(world.db);
  const [one] = before;
  const cleaned = await world.db.transaction().execute(async (transaction) => {
    const keys = [String(one?.key)];
    await takeCached(transaction, { orgId: world.orgId, hostId: String(one?.host_id), keys });
    // It ends, or waits for this transaction.
    let ended = false;
    const cleaning = clearCached(world.db, world.orgId).finally(() => (ended = true));
    await eventually(async () => ended || (await waitingForLocks(world.db)) > 0, "it has come to the entry");
    await sql`update builds set cache_id = ${one?.id} where id = ${id}`.execute(transaction);
    return { cleaning };
  });
  expect(await cleaned.cleaning).toEqual({ entries: 1, bytes: LAYER_BYTES });
  expect(await cached()).toMatchObject([{ id: one?.id, in_use: true }]);
  expect(await clearCached(world.db, world.orgId)).toEqual({ entries: 0, bytes: 0 });
});

test("an organization clears its cache, and what waits for a build stays", async () => {
  await builtTemplate(world, { steps: [{ run: "install" }, { run: "one" }] });
  const waiting = await newBuild(world, {
    context: true,
    steps: [{ run: "install" }, { copy: { from: "a", to: "/a" } }],
  });
  world.rung.length = 0;
  const { body } = await world.call<ClearedCache>("DELETE", "/v1/cache");
  expect(body).toEqual({ entries: 1, bytes: LAYER_BYTES });
  expect(world.rung).toContain("build-cache-cleanup");
  expect(await cached()).toMatchObject([{ name: "install", in_use: true }]);
  await untilBuild(world, waiting.id, "queued");
  await eventually(async () => (await cleanUp()).failed === 0, "hosts have removed it");
});

test("what an organization had cached goes from its hosts when it is deleted", async () => {
  await builtTemplate(world);
  const members = new Members(world);
  const { id, path } = await members.newOrganization();
  const { secret: token } = await members.newMember("owner", path);
  const body = { name: "web", size: "shared-cpu-1x", steps: [{ run: "install" }, { run: "one" }] };
  expect((await world.call("POST", "/v1/templates", { body, token })).status).toBe(201);
  await activateBuilder(world);
  const rows = async () =>
    (await sql`select id from build_cache where org_id = ${id}`.execute(world.db)).rows;
  expect(await rows()).toHaveLength(2);
  expect((await world.call("DELETE", path, { token })).status).toBe(204);
  expect(await cleanUp()).toMatchObject({ changed: 2, failed: 0 });
  expect(await rows()).toEqual([]);
  // Of another one all stays.
  expect(await cached()).toHaveLength(1);
});

/** Of a disk of so many layers, what is free. */
async function diskOf(layers: number, freeLayers: number): Promise<void> {
  const usage = {
    ...{ disk_bytes: layers * LAYER_BYTES, disk_free_bytes: freeLayers * LAYER_BYTES },
    ...{ memory_bytes: 1, memory_available_bytes: 1, network_received_bytes: 0, network_sent_bytes: 0 },
    cpu_seconds: { user: 0, system: 0, idle: 0, iowait: 0, steal: 0 },
    warm_pool: { waiting: 0, taken: 0, missed: 0 },
  };
  await sql`update hosts set usage = ${JSON.stringify(usage)}::jsonb`.execute(world.db);
}

test("where a host's disk is nearly full, the cache gives way as far as that goes, but for what was used within the hour", async () => {
  const bytesShown = async (): Promise<number> => {
    const { text } = await world.call("GET", "/metrics");
    return Number(/^skerry_build_cache_bytes\{host="fake"\} (\S+)$/m.exec(text)?.[1]);
  };
  for (const name of ["a", "b", "c", "d"]) await builtTemplate(world, { name, steps: [{ run: name }] });
  await expect.poll(bytesShown).toBe(4 * LAYER_BYTES);
  const usedHoursAgo = async (name: string, hours: number) =>
    sql`update build_cache set last_used_at = now() - ${hours} * interval '1 hour' where name = ${name}`.execute(
      world.db,
    );
  for (const [index, name] of ["a", "b", "c"].entries()) await usedHoursAgo(name, 5 - index);
  await diskOf(100, 10);
  await cleanUp();
  expect(await cached()).toHaveLength(4);
  // Two layers too little.
  await diskOf(100, 8);
  world.rung.length = 0;
  expect(await cleanUp()).toMatchObject({ changed: 2, failed: 0 });
  expect((await cached()).map(({ name }) => name)).toEqual(["d", "c"]);
  // So that the host removes the layers, too.
  expect(world.rung).toContain("cache-cleanup");
  await expect.poll(bytesShown).toBe(2 * LAYER_BYTES);
  await diskOf(100, 0);
  await cleanUp();
  expect((await cached()).map(({ name }) => name)).toEqual(["d"]);
});
