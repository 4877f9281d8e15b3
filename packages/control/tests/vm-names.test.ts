// Names of sandboxes and machines: each finds one that lives, for its own organization alone.

import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { AuditList } from "@skerry/contract/audit/audit-event";
import { quoted } from "../src/values/quoted.ts";
import { openReplica, type Replica } from "./support/replica.ts";
import { type Answer, eventually, useWorld } from "./support/world.ts";

type Body = Record<string, unknown>;

const world = useWorld();
let other: Replica;
beforeAll(async () => {
  world.host.memoryMib = 1_000_000;
  await world.beat();
  other = await openReplica(world);
});
afterAll(() => other[Symbol.asyncDispose]());

const kinds = [
  ["sandbox", "sandboxes"],
  ["machine", "machines"],
] as const;
type Table = (typeof kinds)[number][1];

function create(table: Table, name: string, options: Parameters<typeof world.call>[2] = {}) {
  return world.call<Body>("POST", `/v1/${table}`, { body: { template: "base", name }, ...options });
}

async function idOf(created: Promise<Answer<Body>>): Promise<string> {
  const { status, text, body } = await created;
  expect(status, text).toBe(201);
  return String(body["id"]);
}

function codeOf({ status, body }: Answer<Body>): [number, unknown] {
  return [status, body["code"]];
}

test.each(kinds)("every path of a %s takes its name", async (noun, table) => {
  const name = "a name/with ü, 100 % odd?";
  const path = `/v1/${table}/${encodeURIComponent(name)}`;
  const id = await idOf(create(table, name));
  expect((await world.call("GET", path)).body).toEqual((await world.call("GET", `/v1/${table}/${id}`)).body);
  const ran = await world.call("POST", `${path}/execute`, { body: { command: "true" } });
  expect(ran.status, ran.text).toBe(200);
  expect((await world.call("PUT", `${path}/files/tmp/named`, { body: "x" })).status).toBe(200);
  expect((await world.call("GET", `${path}/files/tmp/named`)).text).toBe("x");
  expect((await world.call("PUT", `${path}/egress`, { body: { mode: "deny_all" } })).status).toBe(200);
  expect((await world.call("GET", `${path}/egress`)).body).toMatchObject({ mode: "deny_all" });
  if (noun === "sandbox") expect((await world.call("POST", `${path}/keepalive`)).body["id"]).toBe(id);
  else {
    expect((await world.call("GET", `${path}/logs`)).status).toBe(200);
    for (const act of ["stop", "start", "restart"])
      expect((await world.call("POST", `${path}/${act}`)).body["id"]).toBe(id);
  }
  expect((await world.call("DELETE", path)).status).toBe(204);
  expect(codeOf(await world.call("GET", path))).toEqual([404, `${noun}_not_found`]);
  expect((await world.call("GET", `/v1/${table}/${id}`)).body).toMatchObject({ status: "destroyed", name });
});

test.each(kinds)(
  "of eight requests at once for a %s of one name, at two replicas, one is granted",
  async (noun, table) => {
    const urls = [world.url, other.url];
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        create(table, "raced", {
          url: urls[index % 2] ?? world.url,
          headers: { "idempotency-key": randomUUID() },
        }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201,
      ...Array.from({ length: 7 }, () => 409),
    ]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.body).toMatchObject({
      code: "name_taken",
      message: `Another ${noun} of the organization has the name "raced".`,
      context: { field: "name", value: "raced" },
    });
    expect(refused?.body["remediation"]).toContain(`destroy the ${noun} that has it`);
    const { rows } = await sql`select 1 from ${sql.table(table)} where name = 'raced'`.execute(world.db);
    expect(rows).toHaveLength(1);
  },
);

test("one key makes one sandbox of a name, however often it is sent; and a key that met a taken name may be sent again", async () => {
  const send = (key: string, url = world.url) =>
    create("sandboxes", "keyed", { url, headers: { "idempotency-key": key } });
  const answers = await Promise.all([send("k1"), send("k1", other.url), send("k1")]);
  const [id, ...others] = new Set(answers.map(({ body }) => body["id"]));
  expect(others).toEqual([]);
  expect(codeOf(await send("k2"))).toEqual([409, "name_taken"]);
  expect((await world.call("DELETE", "/v1/sandboxes/keyed")).status).toBe(204);
  const again = await send("k2");
  expect(again.status, again.text).toBe(201);
  expect(again.body["id"]).not.toBe(id);
  // What was created once is answered as it was, although another one has the name by now.
  expect((await send("k1")).body["id"]).toBe(id);
});

test("a sandbox and a machine, and those of two organizations, may have the same name", async () => {
  const stranger = await world.strangerToken();
  const ours = await idOf(create("sandboxes", "shared"));
  const machine = await idOf(create("machines", "shared"));
  const theirs = await idOf(create("sandboxes", "shared", { token: stranger }));
  const ask = async (table: Table, token?: string) =>
    (await world.call("GET", `/v1/${table}/shared`, token === undefined ? {} : { token })).body["id"];
  expect([await ask("sandboxes"), await ask("machines"), await ask("sandboxes", stranger)]).toEqual([
    ours,
    machine,
    theirs,
  ]);
});

test.each(kinds)(
  "the name of another organization's %s is answered as one that does not exist",
  async (_noun, table) => {
    await idOf(create(table, "ours alone"));
    const token = await world.strangerToken();
    const without = (body: Body) => ({ ...body, request_id: "" });
    for (const [method, rest, body] of [
      ["GET", "", undefined],
      ["DELETE", "", undefined],
      ["POST", "/execute", { command: "true" }],
    ] as const) {
      const ask = (name: string) => world.call<Body>(method, `/v1/${table}/${name}${rest}`, { token, body });
      const [theirs, nothing] = [await ask("ours%20alone"), await ask("nobodys%20")];
      expect(theirs.status).toBe(404);
      expect(JSON.stringify(without(theirs.body)).replace("ours alone", "nobodys ")).toBe(
        JSON.stringify(without(nothing.body)),
      );
    }
    expect((await world.call("GET", `/v1/${table}/ours%20alone`)).status).toBe(200);
  },
);

test("a token without the scope does not learn whether there is such a name", async () => {
  await idOf(create("sandboxes", "secret project"));
  const { token } = (
    await world.call<{ token: string }>("POST", "/v1/auth/tokens", { body: { scopes: ["machines:read"] } })
  ).body;
  for (const name of ["secret%20project", "nothing"])
    expect(codeOf(await world.call("GET", `/v1/sandboxes/${name}`, { token }))).toEqual([403, "forbidden"]);
});

test.each(kinds)(
  "a %s that never came to run gives its name up, so that the creation can be sent again",
  async (noun, table) => {
    world.host.failures.set("start", new SkerryError("guest_failed", "It broke."));
    const failed = await create(table, "second try", { headers: { "idempotency-key": `${noun}-again` } });
    world.host.failures.delete("start");
    expect(failed.status).toBe(502);
    expect(codeOf(await world.call("GET", `/v1/${table}/second%20try`))).toEqual([404, `${noun}_not_found`]);
    const id = await idOf(create(table, "second try", { headers: { "idempotency-key": `${noun}-again` } }));
    expect((await world.call("GET", `/v1/${table}/second%20try`)).body["id"]).toBe(id);
  },
);

test("a machine that has run keeps its name when it fails and while it is stopped", async () => {
  const id = await idOf(create("machines", "steady"));
  await world.call("POST", "/v1/machines/steady/stop");
  expect(codeOf(await create("machines", "steady"))).toEqual([409, "name_taken"]);
  await sql`update machines set status = 'failed' where id = ${id}`.execute(world.db);
  expect(codeOf(await create("machines", "steady"))).toEqual([409, "name_taken"]);
  expect((await world.call("POST", "/v1/machines/steady/start")).body["id"]).toBe(id);
});

test("a sandbox keeps its name until its host has confirmed that it is destroyed", async () => {
  const id = await idOf(create("sandboxes", "lingering"));
  await sql`update sandboxes set status = 'destroying' where id = ${id}`.execute(world.db);
  expect(codeOf(await create("sandboxes", "lingering"))).toEqual([409, "name_taken"]);
  expect((await world.call("GET", "/v1/sandboxes/lingering")).body).toMatchObject({
    id,
    status: "destroying",
  });
  expect((await world.call("DELETE", "/v1/sandboxes/lingering")).status).toBe(204);
});

test.each(["sbx_x", "mch_x", `sbx_${"0".repeat(26)}`, ".", "..", "a\0b"])(
  "%j is no name, because a path could not be told by it",
  async (name) => {
    for (const [, table] of kinds) expect(codeOf(await create(table, name))).toEqual([400, "bad_request"]);
  },
);

test("a call for sandboxes says of a machine's id what it is, and no more", async () => {
  const machine = (await world.createMachine()).id;
  const nothing = machine.replace(/....$/, "0000");
  for (const id of [machine, nothing]) {
    expect((await world.call<Body>("GET", `/v1/sandboxes/${id}`)).body).toMatchObject({
      code: "sandbox_not_found",
      message: `"${id}" begins as ids of a machine do, and this call is about a sandbox.`,
      remediation: "Use the call for machines.",
    });
  }
  const asMachine = await world.call<Body>("DELETE", "/v1/machines/sbx_a");
  expect(asMachine.body).toMatchObject({
    code: "machine_not_found",
    remediation: "Use the call for sandboxes.",
  });
});

test("what was asked for is repeated without what a terminal or a log would act on", async () => {
  const asked = encodeURIComponent(`\u001b[31m"x"\\\u202e\u2028${"y".repeat(300)}`);
  const { body, status } = await world.call<{ message: string }>("GET", `/v1/sandboxes/${asked}`);
  expect(status).toBe(404);
  const shown = `${String.raw`\u{1b}[31m\"x\"\\\u{202e}\u{2028}`}${"y".repeat(89)}…`;
  expect(body.message).toBe(`There is no sandbox "${shown}".`);
  expect(quoted("\ud800")).toBe(String.raw`"\u{d800}"`);
});

test("audit log and request log keep the id, and never the name", async () => {
  const name = "hunter2-name";
  const id = await idOf(create("sandboxes", name));
  const ran = await world.call("POST", `/v1/sandboxes/${name}/execute`, { body: { command: "true" } });
  await world.call("PUT", `/v1/sandboxes/${name}/files/tmp/x`, { body: "x" });
  await world.call("GET", `/v1/sandboxes/${name}-that-is-not-there`);
  await world.call("DELETE", `/v1/sandboxes/${name}`);
  const audit = await world.call<AuditList>("GET", "/v1/audit?limit=500");
  const event = audit.body.items.find((item) => item.request_id === ran.headers.get("x-request-id"));
  expect(event).toMatchObject({ action: "sandbox.execute", resource: { kind: "sandbox", id } });
  // The list adds the name of now; the table keeps the id.
  const { rows } = await sql<{ text: string }>`
    select string_agg(e::text, '') as text from audit_events e`.execute(world.db);
  expect([rows[0]?.text.includes(id), rows[0]?.text.includes(name)]).toEqual([true, false]);
  const line = () => world.log.find((entry) => entry["request_id"] === ran.headers.get("x-request-id"));
  await eventually(() => line() !== undefined, "the request is logged");
  expect(line()?.["path"]).toBe(`/v1/sandboxes/${id}/execute`);
  expect(JSON.stringify(world.log)).not.toContain(name);
  expect((await world.call("GET", "/metrics")).text).not.toContain(name);
});

test("a call by id asks the database no more than before there were names", async () => {
  const id = await idOf(create("sandboxes", "quick"));
  const execute = (at: string) =>
    world.call("POST", `/v1/sandboxes/${at}/execute`, { body: { command: "true" } });
  await execute(id);
  // Where it runs is known, and the token too: only the audit event is written. A table that cannot be read would be noticed.
  await sql`alter table vms rename to vms_away`.execute(world.db);
  try {
    expect((await execute(id)).status).toBe(200);
  } finally {
    await sql`alter table vms_away rename to vms`.execute(world.db);
  }
  expect((await execute("quick")).status).toBe(200);
});
