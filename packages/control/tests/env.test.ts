// Environments hold secrets: who may execute sees their values, nobody else does, and nothing is left of them after the end.

import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import type { Role } from "@skerry/contract/organizations/roles";
import type { Scope } from "@skerry/contract/organizations/scopes";
import { expiredRowsSweeper } from "../src/platform/expired-rows-sweeper.ts";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { done, Members } from "./support/members.ts";
import { type Answer, useWorld } from "./support/world.ts";

const SECRET = "hunter2-of-the-database";
const env = { DB_PASSWORD: SECRET, EMPTY: "" };
const hidden = { DB_PASSWORD: null, EMPTY: null };
const never = new AbortController().signal;

const world = useWorld();
let members: Members;
beforeAll(async () => {
  world.host.memoryMib = 1_000_000;
  await world.beat();
  members = new Members(world);
});

type Body = Record<string, unknown>;
type Table = "sandboxes" | "machines";

async function create(table: Table, headers: Record<string, string> = {}, token = world.token) {
  return world.call<Body & { id: string }>("POST", `/v1/${table}`, {
    body: { template: "base", timeout: undefined, env },
    headers,
    token,
  });
}

/** Everything that a reader can ask about one. */
async function readings(table: Table, id: string, token: string): Promise<Answer<Body>[]> {
  const paths = [`/v1/${table}/${id}`, `/v1/${table}`, `/v1/${table}?limit=500`, "/v1/status", "/v1/audit"];
  return Promise.all(paths.map((path) => world.call<Body>("GET", path, { token })));
}

/** All that is stored, in every table. */
async function stored(): Promise<string> {
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = 'public'`.execute(world.db);
  expect(rows.length).toBeGreaterThan(10);
  const texts = await Promise.all(
    rows.map(async ({ name }) => {
      const { rows: found } = await sql<{ text: string }>`
        select coalesce(string_agg(t::text, chr(10)), '') as text from ${sql.table(name)} t`.execute(
        world.db,
      );
      return found[0]?.text ?? "";
    }),
  );
  return texts.join("\n");
}

const readers: [string, Role, Scope[] | undefined][] = [
  ["a viewer", "viewer", undefined],
  ["a member whose token only reads", "member", ["sandboxes:read", "machines:read"]],
  [
    "an owner whose token reads and writes",
    "owner",
    ["sandboxes:read", "sandboxes:write", "machines:read", "machines:write"],
  ],
];

test.each(readers)("%s sees the names of an environment and not its values", async (_who, role, scopes) => {
  let token = (await members.newMember(role)).secret;
  if (scopes !== undefined) token = (await done(201, members.mint(token, { scopes }))).token;
  for (const table of ["sandboxes", "machines"] as const) {
    const { id } = (await create(table)).body;
    const answers = await readings(table, id, token);
    expect(answers[0]?.body["env"]).toEqual(hidden);
    for (const answer of answers) expect(answer.text).not.toContain(SECRET);
  }
});

test("who writes but may not execute gets no values back, from no call that answers the resource", async () => {
  const scopes = ["sandboxes:read", "sandboxes:write", "machines:read", "machines:write"];
  const { token } = await done(201, members.mint(world.token, { scopes }));
  const sandbox = await create("sandboxes", { "idempotency-key": "writer" }, token);
  const machine = await create("machines", {}, token);
  const answers = [
    sandbox,
    await create("sandboxes", { "idempotency-key": "writer" }, token),
    machine,
    await world.call("POST", `/v1/sandboxes/${sandbox.body.id}/keepalive`, { token }),
    await world.call("POST", `/v1/machines/${machine.body.id}/stop`, { token }),
    await world.call("POST", `/v1/machines/${machine.body.id}/start`, { token }),
    await world.call("POST", `/v1/machines/${machine.body.id}/restart`, { token }),
  ];
  for (const { status, body, text } of answers) {
    expect(status, text).toBeLessThan(300);
    expect(body["env"]).toEqual(hidden);
  }
});

test("the scope counts for its own kind alone", async () => {
  const scopes = ["sandboxes:read", "sandboxes:execute", "machines:read"];
  const { token } = await done(201, members.mint(world.token, { scopes }));
  const sandbox = (await create("sandboxes")).body.id;
  const machine = (await create("machines")).body.id;
  expect((await world.call("GET", `/v1/sandboxes/${sandbox}`, { token })).body["env"]).toEqual(env);
  expect((await world.call("GET", `/v1/machines/${machine}`, { token })).body["env"]).toEqual(hidden);
});

test("who may execute sees the values, in every answer, and the guest has them", async () => {
  const sandbox = await create("sandboxes", { "idempotency-key": "owner" });
  const again = await create("sandboxes", { "idempotency-key": "owner" });
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(again.body).toEqual(sandbox.body);
  const { id } = sandbox.body;
  const list = await world.call<{ items: Body[] }>("GET", "/v1/sandboxes");
  expect(list.body.items.find((item) => item["id"] === id)?.["env"]).toEqual(env);
  expect((await world.call("POST", `/v1/sandboxes/${id}/keepalive`)).body["env"]).toEqual(env);
  expect(world.host.vms.get(id)?.spec.env).toEqual(env);
  const machine = (await create("machines")).body;
  expect(machine["env"]).toEqual(env);
  await world.call("POST", `/v1/machines/${machine.id}/restart`);
  expect(world.host.vms.get(machine.id)?.spec.env).toEqual(env);
});

test("a member who becomes a viewer sees the values no more, with the same token", async () => {
  const member = await members.newMember("member");
  const { id } = (await create("sandboxes")).body;
  const read = async () =>
    (await world.call("GET", `/v1/sandboxes/${id}`, { token: member.secret })).body["env"];
  expect(await read()).toEqual(env);
  await members.setRole(world.token, member.user_id, { role: "viewer" });
  expect(await read()).toEqual(hidden);
});

test("nothing is left of the values once the destruction has begun, in no table and in no log", async () => {
  await sql`delete from sandboxes`.execute(world.db);
  await sql`delete from machines`.execute(world.db);
  const sandbox = (await create("sandboxes", { "idempotency-key": "gone-1" })).body.id;
  const machine = (await create("machines", { "idempotency-key": "gone-2" })).body.id;
  const expired = (await create("sandboxes")).body.id;
  const stuck = (await create("machines")).body.id;
  expect(await stored()).toContain(SECRET);
  await done(204, world.call("DELETE", `/v1/sandboxes/${sandbox}`));
  await done(204, world.call("DELETE", `/v1/machines/${machine}`));
  await sql`update sandboxes set expires_at = now() - interval '1 second' where id = ${expired}`.execute(
    world.db,
  );
  await sandboxReaper(world.context, 1_000, 30).activate(never);
  // Its host does not confirm, and may never do.
  await world.host.stop();
  await done(204, world.call("DELETE", `/v1/machines/${stuck}`));
  await world.host.start();
  expect(await stored()).not.toContain(SECRET);
  expect((await world.call("GET", `/v1/sandboxes/${sandbox}`)).body["env"]).toEqual(hidden);
  expect((await world.call("GET", `/v1/machines/${stuck}`)).body["env"]).toEqual(hidden);
  expect(JSON.stringify(world.log)).not.toContain(SECRET);
  expect((await world.call("GET", "/metrics")).text).not.toContain(SECRET);
  // The same request with the same key still has its first answer.
  const again = await create("sandboxes", { "idempotency-key": "gone-1" });
  expect(again.body).toMatchObject({ id: sandbox, status: "running", env });
});

test("what a version of before has left is erased by the sweeper, and nothing of what lives", async () => {
  const old = (await create("sandboxes")).body.id;
  const oldMachine = (await create("machines")).body.id;
  const living = (await create("sandboxes")).body.id;
  await sql`update sandboxes set status = 'destroyed' where id = ${old}`.execute(world.db);
  await sql`update machines set status = 'destroyed' where id = ${oldMachine}`.execute(world.db);
  await expiredRowsSweeper(world.context, 1_000).activate(never);
  const { rows } = await sql<{ id: string; env: unknown }>`
    select id, env from sandboxes union all select id, env from machines`.execute(world.db);
  const envOf = (id: string) => rows.find((row) => row.id === id)?.env;
  expect([envOf(old), envOf(oldMachine), envOf(living)]).toEqual([hidden, hidden, env]);
});

test("an error about an environment repeats no value", async () => {
  for (const bad of [
    { "A=B": SECRET },
    { A: `${SECRET}\0` },
    { A: [SECRET] },
    { A: { B: SECRET } },
    SECRET,
  ]) {
    for (const table of ["sandboxes", "machines"] as const) {
      const answer = await world.call("POST", `/v1/${table}`, { body: { template: "base", env: bad } });
      expect(answer.status).toBe(400);
      expect(answer.text).not.toContain(SECRET);
    }
  }
  const taken = await world.call("POST", "/v1/sandboxes", { body: { template: "none", env } });
  expect(taken.text).not.toContain(SECRET);
  expect(JSON.stringify(world.log)).not.toContain(SECRET);
});
