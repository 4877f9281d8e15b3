// Secrets in microVMs: what a host is given when one starts, and in no other place than that request.

import { sql } from "kysely";
import { afterEach, beforeAll, expect, test } from "vitest";
import type { Machine } from "@skerry/contract/machines/machine";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import { runEnder } from "../src/sandboxes/run-ender.ts";
import { Members } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const VALUE = "correct-horse-battery-staple";

beforeAll(async () => {
  world.host.memoryMib = 1_000_000;
  world.host.cpus = 64;
  await world.beat();
});
afterEach(async () => {
  await sql`delete from secret_versions`.execute(world.db);
});

const set = (name: string, value: string) => world.call("PUT", `/v1/secrets/${name}`, { body: { value } });
const create = <Vm>(noun: "sandboxes" | "machines", fields: object, token = world.token) =>
  world.call<Vm & Record<string, unknown>>("POST", `/v1/${noun}`, {
    token,
    body: { template: "base", ...fields },
  });
/** Secrets of the request that has started this VM last. */
const givenTo = (id: string) => world.host.vms.get(id)?.spec.secrets;

test("a sandbox gets the secrets that it asks for, by the variables that it names, and shows their versions", async () => {
  await set("API_KEY", "old");
  await set("API_KEY", VALUE);
  await set("DB", "postgres://x");
  const { status, body } = await create<Sandbox>("sandboxes", {
    env: { A: "1" },
    secrets: [{ name: "API_KEY" }, { name: "DB", as: "DATABASE_URL" }],
  });
  expect(status).toBe(201);
  expect(body.secrets).toEqual([
    { name: "API_KEY", as: "API_KEY", version: 2, given_at: expect.any(String) as string },
    { name: "DB", as: "DATABASE_URL", version: 1, given_at: expect.any(String) as string },
  ]);
  expect(givenTo(body.id)).toEqual({ API_KEY: VALUE, DATABASE_URL: "postgres://x" });
  expect(world.host.vms.get(body.id)?.spec.env).toEqual({ A: "1" });
  const other = await create<Sandbox>("sandboxes", {});
  expect([other.body.secrets, givenTo(other.body.id)]).toEqual([[], undefined]);
});

test("no table, no log line and no answer has a value after a VM was given it", async () => {
  await set("API_KEY", VALUE);
  const made = await create<Sandbox>("sandboxes", { secrets: [{ name: "API_KEY" }] });
  const shown = await world.call("GET", `/v1/sandboxes/${made.body.id}`);
  expect(JSON.stringify([made.body, shown.body])).not.toContain(VALUE);
  expect(JSON.stringify(world.log)).not.toContain(VALUE);
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'public'`.execute(world.db);
  for (const { name } of rows) {
    const text = await sql<{ all: string | null }>`
      select string_agg(one::text, '') as all from ${sql.table(name)} one`.execute(world.db);
    const all = text.rows[0]?.all ?? "";
    for (const form of [VALUE, Buffer.from(VALUE).toString("hex"), Buffer.from(VALUE).toString("base64")])
      expect(`${name} ${all.includes(form)}`).toBe(`${name} false`);
  }
});

test.each([
  [{ secrets: [{ name: "MISSING" }] }, 404, "secret_not_found"],
  [{ secrets: [{ name: "API_KEY" }, { name: "API_KEY" }] }, 400, "invalid_env"],
  [{ env: { KEY: "x" }, secrets: [{ name: "API_KEY", as: "KEY" }] }, 400, "invalid_env"],
  [{ secrets: [{ name: "API_KEY", as: "1A" }] }, 400, "bad_request"],
  [{ secrets: [{ name: "API_KEY", as: "A" }, { name: "LONG" }] }, 400, "invalid_env"],
  [
    { secrets: Array.from({ length: 65 }, (_, at) => ({ name: "API_KEY", as: `A${at}` })) },
    400,
    "bad_request",
  ],
] as const)("a request that cannot be met makes nothing: %j", async (fields, status, code) => {
  await set("API_KEY", VALUE);
  await set("LONG", "x".repeat(60 * 1024));
  const before = world.host.vms.size;
  const refused = await create("sandboxes", fields);
  expect(refused).toMatchObject({ status, body: { code } });
  expect(JSON.stringify(refused.body)).not.toContain(VALUE);
  expect(world.host.vms.size).toBe(before);
});

test("a token without secrets:read makes VMs, and none with secrets", async () => {
  await set("API_KEY", VALUE);
  const minted = await world.call<{ token: string }>("POST", "/v1/auth/tokens", {
    body: { scopes: ["sandboxes:write", "sandboxes:execute", "machines:write", "machines:execute"] },
  });
  const { token } = minted.body;
  for (const noun of ["sandboxes", "machines"] as const) {
    expect(await create(noun, { secrets: [{ name: "API_KEY" }] }, token)).toMatchObject({
      status: 403,
      body: { code: "forbidden" },
    });
    expect((await create(noun, { secrets: [] }, token)).status).toBe(201);
  }
});

test("a secret of another organization is not found", async () => {
  await set("API_KEY", VALUE);
  const members = new Members(world);
  const { path } = await members.newOrganization();
  const token = (await members.newMember("owner", path)).secret;
  expect(await create("sandboxes", { secrets: [{ name: "API_KEY" }] }, token)).toMatchObject({
    status: 404,
    body: { code: "secret_not_found" },
  });
});

test("a machine that starts again gets the versions of then, and none that is deleted", async () => {
  await set("API_KEY", "old");
  await set("OWN_DB", "kept");
  const made = await create<Machine>("machines", { secrets: [{ name: "API_KEY" }, { name: "OWN_DB" }] });
  const { id } = made.body;
  expect(givenTo(id)).toEqual({ API_KEY: "old", OWN_DB: "kept" });
  await set("API_KEY", VALUE);
  const deleted = await world.call("DELETE", "/v1/secrets/OWN_DB");
  expect(deleted.body).toEqual({ name: "OWN_DB", still_in: [id] });
  await world.call("POST", `/v1/machines/${id}/restart`);
  expect(givenTo(id)).toEqual({ API_KEY: VALUE });
  const { body } = await world.call<Machine>("GET", `/v1/machines/${id}`);
  expect(body.secrets).toMatchObject([
    { name: "API_KEY", version: 2 },
    { name: "OWN_DB", version: null, given_at: null },
  ]);
});

test("a paused sandbox that is resumed, and its forks, get the versions of then", async () => {
  await set("API_KEY", "old");
  const made = await create<Sandbox>("sandboxes", { mode: "persistent", secrets: [{ name: "API_KEY" }] });
  const { id } = made.body;
  await world.call("POST", `/v1/sandboxes/${id}/pause`);
  await set("API_KEY", VALUE);
  await world.call("POST", `/v1/sandboxes/${id}/resume`);
  expect(givenTo(id)).toEqual({ API_KEY: VALUE });
  await set("API_KEY", "newest");
  const forks = await world.call<{ items: Sandbox[] }>("POST", `/v1/sandboxes/${id}/fork`, { body: {} });
  const [fork] = forks.body.items;
  expect(givenTo(fork?.id ?? "")).toEqual({ API_KEY: "newest" });
});

test("a guest whose only secret was deleted is told that it has none", async () => {
  await set("API_KEY", VALUE);
  const made = await create<Sandbox>("sandboxes", { mode: "persistent", secrets: [{ name: "API_KEY" }] });
  const { id } = made.body;
  await world.call("POST", `/v1/sandboxes/${id}/pause`);
  await world.call("DELETE", "/v1/secrets/API_KEY");
  await world.call("POST", `/v1/sandboxes/${id}/resume`);
  expect(givenTo(id)).toEqual({});
});

test("a secret that became too long fails the start by its name, and a shorter one lets it start", async () => {
  await set("API_KEY", VALUE);
  const made = await create<Machine>("machines", { secrets: [{ name: "API_KEY" }] });
  await set("API_KEY", "x".repeat(60 * 1024));
  const path = `/v1/machines/${made.body.id}`;
  await world.call("POST", `${path}/stop`);
  expect(await world.call("POST", `${path}/start`)).toMatchObject({
    status: 400,
    body: { code: "invalid_env", message: expect.stringContaining("secrets") as string },
  });
  await set("API_KEY", VALUE);
  expect((await world.call("POST", `${path}/start`)).status).toBe(200);
});

test("a machine's environment takes no variable that a secret has", async () => {
  await set("API_KEY", VALUE);
  const made = await create<Machine>("machines", { secrets: [{ name: "API_KEY", as: "KEY" }] });
  const refused = await world.call("PATCH", `/v1/machines/${made.body.id}`, { body: { env: { KEY: "x" } } });
  expect(refused).toMatchObject({ status: 400, body: { code: "invalid_env", context: { name: "KEY" } } });
});

test("a secret at a snapshot needs the scope that a variable needs there", async () => {
  await set("BASH_ENV", VALUE);
  const made = await create<Sandbox>("sandboxes", {});
  const snapshot = await world.call<Snapshot>("POST", `/v1/sandboxes/${made.body.id}/snapshots`, {
    body: {},
  });
  const minted = await world.call<{ token: string }>("POST", "/v1/auth/tokens", {
    body: { scopes: ["sandboxes:write", "sandboxes:read", "secrets:read"] },
  });
  const body = { snapshot: snapshot.body.id, secrets: [{ name: "BASH_ENV" }] };
  expect(await world.call("POST", "/v1/sandboxes", { token: minted.body.token, body })).toMatchObject({
    status: 403,
  });
});

test("snapshots of a VM that went back to one with secrets have them too", async () => {
  await set("API_KEY", VALUE);
  for (const noun of ["sandboxes", "machines"] as const) {
    const take = async (id: string) =>
      (await world.call<Snapshot>("POST", `/v1/${noun}/${id}/snapshots`, { body: {} })).body;
    const given = await create<Sandbox>(noun, { secrets: [{ name: "API_KEY" }] });
    const other = await create<Sandbox>(noun, {});
    const { id: snapshot } = await take(given.body.id);
    const back = await world.call("POST", `/v1/${noun}/${other.body.id}/rollback`, { body: { snapshot } });
    expect(back.status).toBe(200);
    await world.call("DELETE", `/v1/snapshots/${snapshot}`);
    expect((await take(other.body.id)).contains_secrets).toBe(true);
  }
});

test("a snapshot of a VM with secrets says so, as does one of a VM that begins there, and no template is built on it", async () => {
  await set("API_KEY", VALUE);
  const take = async (id: string) =>
    (await world.call<Snapshot>("POST", `/v1/sandboxes/${id}/snapshots`, { body: {} })).body;
  const plain = await create<Sandbox>("sandboxes", {});
  expect((await take(plain.body.id)).contains_secrets).toBe(false);
  const made = await create<Sandbox>("sandboxes", { secrets: [{ name: "API_KEY" }] });
  const snapshot = await take(made.body.id);
  expect(snapshot.contains_secrets).toBe(true);
  const again = await world.call<Sandbox>("POST", "/v1/sandboxes", { body: { snapshot: snapshot.id } });
  expect([again.status, again.body.secrets]).toEqual([201, []]);
  await world.call("DELETE", `/v1/snapshots/${snapshot.id}`);
  expect((await take(again.body.id)).contains_secrets).toBe(true);
  const kept = await take(made.body.id);
  const refused = await world.call("POST", "/v1/templates", {
    body: { name: "stolen", from: kept.id, steps: [{ run: "true" }] },
  });
  expect(refused).toMatchObject({ status: 409, body: { code: "snapshot_has_secrets" } });
});

test("without the root key a VM with secrets is refused, and one without is made", async () => {
  await set("API_KEY", VALUE);
  await sql`update secret_versions set sealed_value = sealed_value || '\\x00'`.execute(world.db);
  expect(await create("sandboxes", { secrets: [{ name: "API_KEY" }] })).toMatchObject({
    status: 500,
    body: { code: "secret_damaged" },
  });
  expect((await create("sandboxes", {})).status).toBe(201);
});

test("what a machine prints of its secrets is no line of its log, in any version that is kept", async () => {
  await set("API_KEY", "an older value");
  const { body } = await create<Machine>("machines", { secrets: [{ name: "API_KEY" }] });
  world.host.console.print(body.id, "old: an older ");
  world.host.console.print(
    body.id,
    `value\nbasic: ${btoa(`user:${VALUE}`)}\n${"x".repeat(16 * 1024 - 3)}${VALUE}\n`,
  );
  await set("API_KEY", VALUE);
  const { lines } = (await world.call<{ lines: string[] }>("GET", `/v1/machines/${body.id}/logs`)).body;
  expect(lines[0]).toBe(`old: ${"*".repeat(14)}`);
  expect(lines.join("")).not.toContain(VALUE.slice(0, 8));
  expect(Buffer.from(lines[1]?.split(" ")[1] ?? "", "base64").toString()).not.toContain(VALUE.slice(2, -2));
});

test("output of a command that is kept has no secret of its sandbox, and as many bytes", async () => {
  await set("API_KEY", VALUE);
  const { body } = await create<Sandbox>("sandboxes", { secrets: [{ name: "API_KEY" }] });
  const begun = await world.call<{ id: string }>("POST", `/v1/sandboxes/${body.id}/executions`, {
    body: { command: "forever", keep_output: true },
  });
  const fake = world.host.executions.last;
  fake.write(`it is ${VALUE}\n`);
  fake.end(0);
  await runEnder(world.context, 1_000).activate(new AbortController().signal);
  const { rows } = await sql<{ stdout: Buffer }>`
    select stdout from kept_executions where id = ${begun.body.id}`.execute(world.db);
  expect(rows[0]?.stdout.toString()).toBe(`it is ${"*".repeat(VALUE.length)}\n`);
});
