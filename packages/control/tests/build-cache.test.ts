// What builds leave for the next ones, with a host that pretends to build.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import type { BuildLog } from "@skerry/contract/builds/build-log";
import type { CacheEntryList, ClearedCache } from "@skerry/contract/builds/build-cache";
import { SkerryError } from "@skerry/contract/errors";
import type { Template } from "@skerry/contract/templates/template";
import { buildCacheCleanup } from "../src/builds/build-cache-cleanup.ts";
import { builder } from "../src/builds/builder.ts";
import { clearCached, keepWithinBudgets, takeCached } from "../src/builds/cache-store.ts";
import { activateBuilder, builtTemplate, buildNow, newBuild, untilBuild } from "./support/builds.ts";
import { contextDigests } from "./support/fake-commands.ts";
import { Members } from "./support/members.ts";
import { eventually, useWorld, waitingForLocks } from "./support/world.ts";

const world = useWorld({ buildCacheGib: 20 });
const { templates } = world.host;
const LAYER_BYTES = 1_000_000;

afterEach(async () => {
  templates.failures.clear();
  templates.before = async () => undefined;
  templates.kept.clear();
  contextDigests.clear();
  await sql`delete from build_cache`.execute(world.db);
  await sql`delete from builds`.execute(world.db);
  await sql`delete from template_hosts`.execute(world.db);
  await sql`delete from template_frozen`.execute(world.db);
  await sql`delete from template_tags`.execute(world.db);
  await sql`delete from templates`.execute(world.db);
  world.host.vms.clear();
  world.host.executions.all.clear();
});

function cleanUp(limits: Partial<typeof world.context.limits> = {}) {
  const context = { ...world.context, limits: { ...world.context.limits, ...limits } };
  return buildCacheCleanup(context, 1_000).activate(new AbortController().signal);
}

async function cached(): Promise<CacheEntryList["items"]> {
  return (await world.call<CacheEntryList>("GET", "/v1/cache")).body.items;
}

const hits = ({ steps }: Build) => steps.map(({ cache_hit }) => cache_hit);
const digest = (digit: string) => digit.repeat(64);
/** So many layers. */
const gib = (layers: number) => (layers * LAYER_BYTES) / 1024 ** 3;
const app = [{ run: "install" }, { copy: { from: ".", to: "/app" } }, { run: "compile" }];

/** The commands that ran since the last call. */
function ran(): string[] {
  const { all } = world.host.executions;
  const names = [...all.values()].map(({ command: { env } }) => env["STEP_RUN"] ?? "");
  all.clear();
  return names.filter((name) => name !== "");
}

test("a build begins behind the steps that one before has carried out, and says which", async () => {
  await builtTemplate(world, { steps: [{ run: "install" }, { run: "one" }] });
  expect(ran()).toEqual(["install", "one"]);
  const second = await builtTemplate(world, { steps: [{ run: "install" }, { run: "two" }] });
  expect(ran()).toEqual(["two"]);
  expect(hits(second)).toEqual([true, false, false]);
  expect(second.steps.map(({ bytes }) => bytes)).toEqual([LAYER_BYTES, LAYER_BYTES, LAYER_BYTES]);
  const version = templates.kept.get(String(second.template_id));
  const first = (await cached()).find(({ name }) => name === "install");
  expect(first).toMatchObject({ kind: "run", bytes: LAYER_BYTES, in_use: false });
  const below = templates.kept.get(String(first?.id))?.image.layers;
  expect(version?.image.layers.slice(0, below?.length)).toEqual(below);
  // The order counts.
  await builtTemplate(world, { steps: [{ run: "two" }, { run: "install" }] });
  expect(ran()).toEqual(["two", "install"]);
});

test("a build of the same is answered at once with the version that is there, and gives it the tag", async () => {
  const first = await builtTemplate(world, { tag: "1" });
  ran();
  const again = await newBuild(world, { tag: "2" });
  expect(again).toMatchObject({ status: "ready", template_id: first.template_id });
  expect(hits(again)).toEqual([true, true]);
  expect(again.finished_at).not.toBeNull();
  expect(world.host.vms.size).toBe(0);
  const { body } = await world.call<Template>("GET", "/v1/templates/web:2");
  expect(body).toMatchObject({ id: first.template_id, tags: ["1", "2", "latest"] });
  const { body: log } = await world.call<BuildLog>("GET", `/v1/builds/${again.id}/logs`);
  expect(log.lines.map(({ text }) => text)).toEqual([expect.stringContaining(String(first.template_id))]);
  // What differs is built: another name, another environment, and what asks for it.
  for (const other of [
    { name: "site" },
    { env: { A: "1" } },
    { no_cache: true },
    { sizes: ["shared-cpu-1x"], start: { command: "x" } },
  ])
    expect((await builtTemplate(world, other)).template_id).not.toBe(first.template_id);
  // The newest of the same is the one that is given.
  const newest = await builtTemplate(world, { no_cache: true });
  expect((await newBuild(world)).template_id).toBe(newest.template_id);
});

test("a version that was deleted, or cannot take the tag, is built again", async () => {
  const first = await builtTemplate(world, { tag: "0" });
  await sql`
    insert into template_tags select org_id, name, 'x' || n, id from templates, generate_series(1, 98) n
    where id = ${first.template_id}`.execute(world.db);
  expect((await newBuild(world, { tag: "0" })).template_id).toBe(first.template_id);
  const second = await builtTemplate(world, { tag: "one-too-many" });
  expect(second.template_id).not.toBe(first.template_id);
  await world.call("DELETE", `/v1/templates/${second.template_id}`);
  await world.call("DELETE", `/v1/templates/${first.template_id}`);
  expect(await newBuild(world)).toMatchObject({ status: "queued" });
});

test("the digests of a context choose what is skipped, and are compared with what comes", async () => {
  contextDigests.set(".", digest("a"));
  const request = { context: true, steps: app };
  const send = async (build: Build) => {
    expect(build.waits_for_context).toBe(true);
    const sent = await world.call<Build>("PUT", `/v1/builds/${build.id}/context`, { body: "a tar archive" });
    expect(sent.status).toBe(200);
    await activateBuilder(world);
    return buildNow(world, build.id);
  };
  const begin = async (more: object = {}) => {
    const build = await newBuild(world, { ...request, ...more });
    await activateBuilder(world);
    return build;
  };
  const first = await send(await begin());
  expect(first).toMatchObject({ status: "ready", error: null });
  expect(ran()).toEqual(["install", "compile"]);
  // Without digests the context has to come first: then it is known that nothing has changed.
  const same = await send(await begin());
  expect(same).toMatchObject({ status: "ready", template_id: first.template_id });
  expect(hits(same)).toEqual([true, true, true, true]);
  expect(ran()).toEqual([]);
  // With them nothing is sent.
  const told = { context_digests: { ".": digest("a") } };
  expect(await newBuild(world, { ...request, ...told })).toMatchObject({
    status: "ready",
    waits_for_context: false,
    template_id: first.template_id,
  });
  // Of another template of the same files only the end is left to do.
  const other = await send(await begin({ ...told, name: "site" }));
  expect(hits(other)).toEqual([true, true, true, false]);
  expect(ran()).toEqual([]);
  // What comes is not what was told: nothing stale is made of it.
  contextDigests.set(".", digest("b"));
  const wrong = await send(await begin({ ...told, name: "blog" }));
  expect(wrong).toMatchObject({ status: "failed", template_id: null, error: { code: "context_mismatch" } });
  // Where nothing was skipped for it, what was told does not count.
  const unknown = await send(await begin({ context_digests: { ".": digest("c") } }));
  expect(unknown).toMatchObject({ status: "ready" });
  expect(hits(unknown)).toEqual([true, false, false, false]);
  contextDigests.set(".", digest("c"));
  expect((await begin({ context_digests: { ".": digest("c") } })).status).toBe("queued");
});

test("digests of paths that no step reads are refused, and nothing of them is kept", async () => {
  const paths = Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(4_095, "x"));
  const unread = Object.fromEntries(paths.map((path) => [path, digest("a")]));
  for (const [steps, context_digests] of [
    [app, { ".": digest("a"), "not-copied": digest("b") }],
    [app, unread],
    [[{ run: "make" }], { ".": digest("a") }],
  ]) {
    const body = { name: "web", size: "shared-cpu-1x", context: true, steps, context_digests };
    const refused = await world.call("POST", "/v1/templates", { body });
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({ code: "bad_request", context: { field: "context_digests" } });
  }
  const { rows } = await sql`select from builds`.execute(world.db);
  expect(rows).toHaveLength(0);
});

test("another organization finds nothing of it, and does not see it", async () => {
  await builtTemplate(world);
  ran();
  const members = new Members(world);
  const { secret: token } = await members.newMember("owner", (await members.newOrganization()).path);
  const list = await world.call<CacheEntryList>("GET", "/v1/cache", { token });
  expect(list.body.items).toEqual([]);
  const cleared = await world.call<ClearedCache>("DELETE", "/v1/cache", { token });
  expect(cleared.body).toEqual({ entries: 0, bytes: 0 });
  const body = { name: "web", size: "shared-cpu-1x", steps: [{ run: "make" }] };
  const { body: build } = await world.call<Build>("POST", "/v1/templates", { body, token });
  expect(build).toMatchObject({ status: "queued", template_id: null });
  await activateBuilder(world);
  expect(ran()).toEqual(["make"]);
  expect(await cached()).toHaveLength(1);
});

test("where a layer is gone, the steps are carried out", async () => {
  await builtTemplate(world, { steps: [{ run: "install" }, { run: "one" }] });
  const [entry] = (await cached()).filter(({ name }) => name === "install");
  const layers = templates.kept.get(String(entry?.id))?.image.layers ?? [];
  for (const layer of layers) templates.layers.delete(layer.digest);
  ran();
  const second = await newBuild(world, { steps: [{ run: "install" }, { run: "two" }] });
  expect(hits(second)).toEqual([true, false, false]);
  await activateBuilder(world);
  const ended = await buildNow(world, second.id);
  expect(ended).toMatchObject({ status: "ready", error: null });
  expect(hits(ended)).toEqual([false, false, false]);
  expect(ran()).toEqual(["install", "two"]);
  expect((await cached()).map(({ id }) => id)).not.toContain(entry?.id);
});

test("a control that dies between a seal and its row leaves nothing for good, and the build goes on", async () => {
  const died = new AbortController();
  templates.before = async (call) => {
    if (call !== "put") return;
    died.abort();
    throw new SkerryError("host_unavailable", "it is away");
  };
  const { id } = await newBuild(world, { steps: [{ run: "install" }] });
  await activateBuilder(world, died.signal);
  expect(await buildNow(world, id)).toMatchObject({ status: "building" });
  templates.before = async () => undefined;
  await sql`update builds set retry_at = now()`.execute(world.db);
  await activateBuilder(world);
  expect(await buildNow(world, id)).toMatchObject({ status: "ready" });
  expect(ran()).toEqual(["install"]);
  expect(await cached()).toEqual([]);
  await sql`update build_cache set created_at = now() - interval '4 hours'`.execute(world.db);
  expect(await cleanUp()).toMatchObject({ examined: 1, changed: 1, failed: 0 });
  const { rows } = await sql`select from build_cache`.execute(world.db);
  expect(rows).toHaveLength(0);
});

test("a host that refuses to keep a step costs the build nothing but the cache", async () => {
  let seals = 0;
  templates.before = async (call) => {
    seals += call === "seal" ? 1 : 0;
    if (call === "seal" && seals === 1)
      throw new SkerryError("no_capacity", "The host's disk is nearly full.");
  };
  const build = await builtTemplate(world);
  const { body } = await world.call<BuildLog>("GET", `/v1/builds/${build.id}/logs`);
  expect(body.lines.map(({ text }) => text)).toContain(
    "This step is not cached: The host's disk is nearly full.",
  );
  expect(await cached()).toEqual([]);
});

test("two builds of the same at once both end well, and one result is kept", async () => {
  const [one, other] = await Promise.all([newBuild(world), newBuild(world)]);
  await activateBuilder(world);
  expect(await buildNow(world, one.id)).toMatchObject({ status: "ready" });
  expect(await buildNow(world, other.id)).toMatchObject({ status: "ready" });
  expect(await cached()).toHaveLength(1);
  await cleanUp();
  const { rows } = await sql<{ id: string }>`select id from build_cache`.execute(world.db);
  // Beside the entry, its host has the versions.
  expect([...templates.kept.keys()].toSorted()).toEqual(
    [...rows.map(({ id }) => id), ...(await versions())].toSorted(),
  );
});

async function versions(): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from templates where status = 'ready'`.execute(
    world.db,
  );
  return rows.map(({ id }) => id);
}

test("no image grows deeper than six layers by what is cached", async () => {
  const steps = Array.from({ length: 12 }, (_, index) => ({ run: `step ${index}` }));
  const build = await builtTemplate(world, { steps });
  expect(templates.kept.get(String(build.template_id))?.image.layers.length).toBeLessThanOrEqual(6);
  expect(await cached()).toHaveLength(4);
});

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
  expect([...templates.kept.keys()]).toEqual(await versions());
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
