// What builds leave for the next ones, with a host that pretends to build.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import type { BuildLog } from "@skerry/contract/builds/build-log";
import { IMAGE_CONFIG_FILE } from "@skerry/build-plan/scripts/registry-files";
import type { CacheEntryList, ClearedCache } from "@skerry/contract/builds/build-cache";
import { SkerryError } from "@skerry/contract/errors";
import type { Template } from "@skerry/contract/templates/template";
import { activateBuilder, builtTemplate, buildNow, newBuild } from "./support/builds.ts";
import {
  cachedIn,
  cleanUpCache,
  forgetBuilds,
  hits,
  LAYER_BYTES,
  readyVersions,
} from "./support/build-cache.ts";
import { contextDigests } from "./support/fake-commands.ts";
import { Members } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld({ buildCacheGib: 20 });
const { templates } = world.host;

afterEach(async () => {
  world.host.files.clear();
  await forgetBuilds(world);
});

const cleanUp = (limits: Partial<typeof world.context.limits> = {}) => cleanUpCache(world, limits);
const cached = () => cachedIn(world);
const digest = (digit: string) => digit.repeat(64);
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

test("of a Dockerfile in groups all but the last are kept, which says what the image is", async () => {
  const content = Buffer.from(JSON.stringify({ OCIv1: { config: { Env: ["A=1"] } } }));
  world.host.files.set(IMAGE_CONFIG_FILE, { size: content.length, sha256: "", mode: 0o644, content });
  contextDigests.set("needs.txt", digest("d"));
  const text = "FROM base\nCOPY needs.txt .\nRUN install\nCOPY src .\nRUN compile\nCOPY more .\n";
  const build = async (src: string) => {
    contextDigests.set("src", digest(src)).set("more", digest("e"));
    const request = { steps: undefined, from: "base", dockerfile: { text }, context: true };
    const { id } = await newBuild(world, request);
    await activateBuilder(world);
    expect(await world.call("PUT", `/v1/builds/${id}/context`, { body: "a tar archive" })).toMatchObject({
      status: 200,
    });
    await activateBuilder(world);
    return buildNow(world, id);
  };
  const first = await build("a");
  expect(first).toMatchObject({ status: "ready", error: null });
  expect(first.steps.map(({ name }) => name)).toEqual([
    "COPY needs.txt . …",
    "COPY src . …",
    "COPY more .",
    "clean up and check the disk",
  ]);
  const kept = (await cached()).filter(({ kind }) => kind === "dockerfile");
  expect(kept.map(({ name }) => name).toSorted()).toEqual(["COPY needs.txt . …", "COPY src . …"]);
  expect(await build("b")).toMatchObject({ status: "ready", error: null });
  expect((await cached()).filter(({ kind }) => kind === "dockerfile")).toHaveLength(3);
});

test("digests of paths that no step reads are refused, and nothing of them is kept", async () => {
  const paths = Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(2_000, "x"));
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
    [...rows.map(({ id }) => id), ...(await readyVersions(world))].toSorted(),
  );
});

test("no image grows deeper than six layers by what is cached", async () => {
  const steps = Array.from({ length: 12 }, (_, index) => ({ run: `step ${index}` }));
  const build = await builtTemplate(world, { steps });
  expect(templates.kept.get(String(build.template_id))?.image.layers.length).toBeLessThanOrEqual(6);
  expect(await cached()).toHaveLength(4);
});
