// Layers of templates in an object store: a server of the S3 kind that is not ours, and hosts that put there and get from there what says where it belongs.

import { readFile, writeFile } from "node:fs/promises";
import { sql } from "kysely";
import { Value } from "typebox/value";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import { StoreLayer } from "@skerry/contract/host-api/stored-layers";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { templateSpreader } from "../src/moves/template-spreader.ts";
import { layerStorer } from "../src/object-store/layer-storer.ts";
import { Bucket } from "../src/object-store/bucket.ts";
import { S3Server } from "../../../tests/support/s3-server.ts";
import { builtTemplate } from "./support/builds.ts";
import type { FakeHost } from "./support/fake-host.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";
import { eventually } from "./support/world.ts";

const LAYERS = 2;
const OBJECTS = 6;

let two: TwoHosts;
let server: S3Server;
let objectStore: Bucket;
let template: string;
let from: FakeHost;
let to: FakeHost;

beforeEach(async () => {
  [two, server] = await Promise.all([TwoHosts.open(), S3Server.start()]);
  objectStore = new Bucket(settings());
  Object.assign(two.world.context, { objectStore });
  template = String((await builtTemplate(two.world)).template_id);
  [from, to] = two.first.templates.kept.has(template) ? [two.first, two.second] : [two.second, two.first];
});
afterEach(async () => {
  await two[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const settings = () => ({
  ...{ url: server.url, region: "us-east-1", credentialsFile: server.credentialsFile },
});
const keep = () => layerStorer(two.world.context, 1_000).activate(never);
const spread = () => templateSpreader(two.world.context, 1_000).activate(never);
const due = () =>
  sql`update stored_layers set due_at = now(), urls_until = now() - interval '1 s'`.execute(two.world.db);

interface Stored {
  readonly id: string;
  readonly status: string;
  readonly digest: string;
  readonly pieces: number;
  readonly damage: string | null;
  readonly sealed_key: Buffer | null;
}

async function stored(): Promise<Stored[]> {
  const { rows } = await sql<Stored>`select * from stored_layers order by digest, created_at`.execute(
    two.world.db,
  );
  return rows;
}

/** A sandbox of the template, which has to come to the other host for it. */
async function createElsewhere(): Promise<{ status: number; body: Sandbox & { code?: string } }> {
  const answer = two.world.call<Sandbox>("POST", "/v1/sandboxes", { body: { template: "web" } });
  await eventually(async () => {
    const { rows } = await sql`select from template_copies`.execute(two.world.db);
    return rows.length > 0;
  }, "a copy is ordered");
  await spread();
  return answer;
}

/** The only host that has the template answers no more, and is known not to. */
async function loseBuilder(): Promise<void> {
  from.templates.failures.set("send", new SkerryError("host_unavailable", "It is gone."));
  await sql`update hosts set status = 'offline' where name = ${from.name}`.execute(two.world.db);
  await two.world.context.hostCapacity.refreshNow();
}

test("a template whose only host is gone comes to another one from the object store, which has learnt nothing of it", async () => {
  expect(await keep()).toMatchObject({ examined: LAYERS, changed: LAYERS, failed: 0 });
  expect((await stored()).map(({ status, pieces }) => [status, pieces])).toEqual([
    ["ready", 3],
    ["ready", 3],
  ]);
  const objects = await server.objects();
  expect(objects).toHaveLength(OBJECTS);
  const names = objects.join();
  for (const secret of [template, two.world.orgId, ...(await stored()).map(({ digest }) => digest)])
    expect(names).not.toContain(secret);
  await loseBuilder();
  const { status, body } = await createElsewhere();
  expect([status, body.status]).toEqual([201, "running"]);
  expect([to.vms.has(body.id), from.calls.includes("POST /layers/send")]).toEqual([true, false]);
  // Nothing is left to do.
  expect(await keep()).toMatchObject({ examined: 0 });
});

test("a template whose only host was removed is not lost while the object store has it", async () => {
  await keep();
  await loseBuilder();
  await sql`update hosts set removed_at = now() where name = ${from.name}`.execute(two.world.db);
  await sql`delete from template_hosts`.execute(two.world.db);
  expect((await createElsewhere()).status).toBe(201);
});

test("without all layers in the store, a template whose only host was removed is lost", async () => {
  from.templates.before = async (call) => {
    if (call === "store")
      from.templates.failures.set("store", new SkerryError("host_unavailable", "It died."));
  };
  await keep();
  await loseBuilder();
  await sql`delete from template_hosts`.execute(two.world.db);
  const { status, body } = await two.world.call("POST", "/v1/sandboxes", { body: { template: "web" } });
  expect([status, body]).toMatchObject([409, { code: "template_lost" }]);
});

test("where the store is away builds are ready all the same, copies go from host to host, and the service says that it fails", async () => {
  Object.assign(two.world.context, {
    objectStore: new Bucket({ ...settings(), url: "http://127.0.0.1:9/x" }),
  });
  expect(await keep()).toMatchObject({ examined: LAYERS, changed: 0, failed: LAYERS });
  expect((await stored()).map(({ status }) => status)).toEqual(["storing", "storing"]);
  // They are tried again, and not at once.
  expect(await keep()).toMatchObject({ examined: 0 });
  from.memoryMib = 100;
  await two.ask(from.socketPath);
  await two.world.context.hostCapacity.refreshNow();
  expect((await createElsewhere()).status).toBe(201);
  expect(from.calls).toContain("POST /layers/send");
  Object.assign(two.world.context, { objectStore });
  await due();
  expect(await keep()).toMatchObject({ changed: LAYERS, failed: 0 });
});

test("a host that dies half way through leaves nothing that is taken for whole; the next attempt ends it", async () => {
  const big = sql`update stored_layers set bytes = 0`;
  from.templates.failures.set("store", new SkerryError("host_unavailable", "It died."));
  await keep();
  from.templates.failures.clear();
  // So few URLs that it takes two calls, of which the second one fails.
  await big.execute(two.world.db);
  let calls = 0;
  from.templates.before = async (call) => {
    if (call === "store" && ++calls > 1) throw new SkerryError("host_unavailable", "It died.");
  };
  await due();
  await keep();
  expect((await stored()).map(({ status }) => status)).toEqual(["storing", "storing"]);
  await loseBuilder();
  const { body } = await two.world.call("POST", "/v1/sandboxes", { body: { template: "web" } });
  expect(body).toMatchObject({ code: "host_unavailable" });
  from.templates.before = async () => undefined;
  await sql`update hosts set status = 'online' where name = ${from.name}`.execute(two.world.db);
  await due();
  expect(await keep()).toMatchObject({ changed: LAYERS });
  expect((await stored()).map(({ status, pieces }) => [status, pieces])).toEqual([
    ["ready", 3],
    ["ready", 3],
  ]);
});

test("a host that lies about what it has put there is not believed, and asked again later", async () => {
  const lies = [
    { pieces: 2_000_000_000, whole: true },
    { pieces: 1_000, whole: true },
    { pieces: 1_000, whole: false },
    // It would be asked for the same again and again.
    { pieces: 0, whole: false },
    { pieces: 1, whole: false },
    { pieces: -1, whole: true },
    { pieces: "3", whole: true },
  ];
  for (const lie of lies) {
    from.templates.told = () => lie;
    expect(await keep()).toMatchObject({ examined: LAYERS, failed: LAYERS });
    expect((await stored()).map(({ status, pieces }) => [status, pieces])).toEqual([
      ["storing", 0],
      ["storing", 0],
    ]);
    await due();
  }
  from.templates.told = (told) => told;
  expect(await keep()).toMatchObject({ changed: LAYERS, failed: 0 });
});

test("URLs with the token of credentials that are good for a while are taken", async () => {
  const token = `${"Ab0/+=".repeat(300)}`;
  await writeFile(
    server.credentialsFile,
    `${await readFile(server.credentialsFile, "utf8")}aws_session_token = ${token}\n`,
  );
  const urls = await objectStore.sign("PUT", [`layers/${"0".repeat(32)}/00000`], 60);
  const order = { digest: "0".repeat(64), object: "0".repeat(32), key: "0".repeat(64), first: 0, urls };
  expect(Value.Check(StoreLayer, order)).toBe(true);
});

test("what a store has changed is not used: the layer comes from a host, and is stored once more under another key", async () => {
  await keep();
  const before = await stored();
  const [changed = ""] = await server.objects();
  await server.change(changed);
  from.memoryMib = 100;
  await two.ask(from.socketPath);
  await two.world.context.hostCapacity.refreshNow();
  expect((await createElsewhere()).status).toBe(201);
  expect(from.calls).toContain("POST /layers/send");
  expect((await stored()).filter(({ damage }) => damage !== null)).toHaveLength(1);
  await keep();
  const after = await stored();
  const fresh = after.find(({ id }) => before.every((row) => row.id !== id));
  expect(fresh).toMatchObject({ status: "ready", damage: null });
  await due();
  expect(await keep()).toMatchObject({ failed: 0 });
  expect((await stored()).map(({ status, damage }) => [status, damage])).toEqual([
    ["ready", null],
    ["ready", null],
  ]);
  expect(await server.objects()).toHaveLength(OBJECTS);
  expect(await server.objects()).not.toContain(changed);
});

test("a damaged layer stays the last resort where no host has it, in case that the store is right again", async () => {
  await keep();
  const objects = await server.objects();
  const contents = await Promise.all(objects.map((file) => readFile(file)));
  for (const file of objects) await writeFile(file, "another");
  await loseBuilder();
  const failed = two.world.call("POST", "/v1/sandboxes", { body: { template: "web" } });
  failed.catch(() => undefined);
  await eventually(async () => {
    await spread();
    return (await stored()).some(({ damage }) => damage !== null);
  }, "the damage is seen");
  for (const [index, file] of objects.entries()) await writeFile(file, contents[index] ?? "");
  await sql`update template_copies set due_at = now()`.execute(two.world.db);
  await spread();
  await sql`update template_copies set due_at = now()`.execute(two.world.db);
  await spread();
  expect((await failed).status).toBe(201);
});

test("a template that is deleted takes its objects with it, once no URL of theirs is good, and nothing that no row names", async () => {
  await keep();
  const others = await fetch((await objectStore.sign("PUT", ["layers/other/00000"], 60))[0] ?? "", {
    method: "PUT",
    body: "of another installation",
  });
  expect(others.status).toBe(200);
  expect((await two.world.call("DELETE", "/v1/templates/web")).status).toBe(204);
  expect(two.world.rung).toContain("layer-storer");
  await keep();
  expect((await stored()).map(({ status, sealed_key }) => [status, sealed_key])).toEqual([
    ["deleting", null],
    ["deleting", null],
  ]);
  expect(await server.objects()).toHaveLength(OBJECTS + 1);
  await due();
  expect(await keep()).toMatchObject({ changed: LAYERS, failed: 0 });
  expect(await stored()).toEqual([]);
  expect(await server.objects()).toMatchObject([expect.stringContaining("other")]);
});

test("what could not be deleted is counted and tried again", async () => {
  await keep();
  await two.world.call("DELETE", "/v1/templates/web");
  await keep();
  await due();
  const credentials = await readFile(server.credentialsFile);
  await writeFile(server.credentialsFile, "aws_access_key_id = nobody\n");
  expect(await keep()).toMatchObject({ examined: LAYERS, failed: LAYERS });
  expect(await stored()).toHaveLength(LAYERS);
  await writeFile(server.credentialsFile, credentials);
  await due();
  expect(await keep()).toMatchObject({ changed: LAYERS, failed: 0 });
  expect(await server.objects()).toEqual([]);
});

test("layers that another template of the organization stands on stay, and what two organizations have is stored twice", async () => {
  const { db } = two.world;
  await builtTemplate(two.world, { name: "other", steps: [{ run: "other" }] });
  await keep();
  // Both stand on the same built-in one.
  expect(await stored()).toHaveLength(3);
  await two.world.call("DELETE", "/v1/templates/web");
  await keep();
  expect((await stored()).map(({ status }) => status).toSorted()).toEqual(["deleting", "ready", "ready"]);
  const { rows } = await sql<{ id: string }>`
    insert into organizations (id, name) values ('org_00000000000000000000000009', 'other') returning id`.execute(
    db,
  );
  await sql`
    insert into templates select (jsonb_populate_record(t, jsonb_build_object('id', 'tpl_00000000000000000000000009', 'org_id', ${rows[0]?.id ?? ""}::text))).*
    from templates t where name = 'other'`.execute(db);
  await sql`
    insert into template_hosts select 'tpl_00000000000000000000000009', host_id, sizes from template_hosts
    where template_id in (select id from templates where name = 'other') limit 1`.execute(db);
  await keep();
  const ready = (await stored()).filter(({ status }) => status === "ready");
  expect([ready.length, new Set(ready.map(({ digest }) => digest)).size]).toEqual([4, 2]);
});

test("a URL is good for its object, its method and its time alone", async () => {
  await keep();
  const [one = "", another = ""] = (await stored()).map(({ id }) => `layers/${id}/00000`);
  const [url = ""] = await objectStore.sign("GET", [one], 60);
  expect((await fetch(url)).status).toBe(200);
  expect((await fetch(url.replace(one, another))).status).toBe(403);
  expect((await fetch(url, { method: "PUT", body: "x" })).status).toBe(403);
  expect((await fetch(url, { method: "DELETE" })).status).toBe(403);
  expect((await fetch(url.replace("Expires=60", "Expires=6000"))).status).toBe(403);
  expect(url).not.toContain("aws_secret");
});

test("credentials are read at each use, and a file that lacks one is named without a word of it", async () => {
  await writeFile(server.credentialsFile, "aws_secret_access_key = geheim\n");
  const signed = objectStore.sign("GET", ["a"], 60);
  await expect(signed).rejects.toMatchObject({ code: "object_store_unavailable" });
  await expect(signed).rejects.not.toThrow("geheim");
});
