// The audit log: nothing that changes something is missing from it, nobody can change it, and it holds no secrets.

import { sql } from "kysely";
import { beforeEach, afterEach, expect, test } from "vitest";
import type { AuditEvent, AuditList } from "@skerry/contract/audit/audit-event";
import { auditSweeper } from "../src/audit/audit-sweeper.ts";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import { operations, type OperationId } from "../src/app/operations.ts";
import { bootstrap } from "../src/organizations/tokens.ts";
import { calls } from "./calls/calls.ts";
import { eventually, World } from "./support/world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world[Symbol.asyncDispose]());

const never = new AbortController().signal;

async function audit(query = ""): Promise<AuditEvent[]> {
  const answer = await world.call<AuditList>("GET", `/v1/audit?limit=500&${query}`);
  expect(answer.status, answer.text).toBe(200);
  return [...answer.body.items];
}

async function mint(body: unknown = {}): Promise<{ id: string; token: string }> {
  return (await world.call<{ id: string; token: string }>("POST", "/v1/auth/tokens", { body })).body;
}

test("each call that changes something leaves one event, with who, what and how it ended", async () => {
  world.host.memoryMib = 100_000;
  world.host.cpus = 8;
  for (const [operation, prepare] of Object.entries(calls)) {
    // A host that is not heard of for 30 s gets nothing new, and a busy machine takes longer for all of them.
    await world.beat();
    const { method, path, body } = await prepare(world);
    const { audit: act } = operations[operation as OperationId];
    // Who joins has no token; its event is the join's own.
    if (method === "GET" || act === undefined) continue;
    const answer = await world.call<{ id?: string; user_id?: string }>(method, path, { body });
    expect(answer.status, operation).toBeLessThan(300);
    const [event, ...others] = (await audit()).filter(
      ({ request_id }) => request_id === answer.headers.get("x-request-id"),
    );
    expect(others).toEqual([]);
    const { action, resource, isOfPath } = act;
    // A registry is called by its host, and a secret by its name.
    const inPath =
      path
        .match(/[a-z]{3}_[0-9a-z]{26}|(?<=\/registry-credentials\/|\/v1\/secrets\/)[^/]+/g)
        ?.map(decodeURIComponent) ?? [];
    expect(event, operation).toMatchObject({
      action,
      resource: {
        kind: resource,
        id: isOfPath === true ? inPath[0] : (answer.body.id ?? answer.body.user_id ?? inPath.at(-1) ?? null),
      },
      outcome: "success",
      code: null,
      organization_id: world.orgId,
      actor: { kind: "user", service: null, address: "127.0.0.1" },
    });
    expect(event?.actor.user_id).toMatch(/^usr_/);
    expect(event?.actor.token_id).toMatch(/^tok_/);
  }
});

test("reading leaves no event, and neither does what was refused for its shape", async () => {
  await world.call("GET", "/v1/sandboxes");
  await world.call("POST", "/v1/sandboxes", { body: { template: 7 } });
  await world.call("DELETE", "/v1/sandboxes/sbx_00000000000000000000000000");
  await world.call("POST", "/v1/sandboxes", { body: {}, token: "sk_wrong" });
  await world.call("POST", "/v1/nothing", { body: {} });
  await world.call("DELETE", "/v1/sandboxes");
  expect((await audit()).map(({ action }) => action)).toEqual(["token.create"]);
});

test("a stream of events leaves its event when it begins", async () => {
  const { id } = await world.createSandbox();
  const leave = new AbortController();
  const answer = await fetch(`${world.url}/v1/sandboxes/${id}/execute`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${world.token}`,
      "content-type": "application/json",
      accept: "text/event-stream",
    },
    body: JSON.stringify({ command: "forever" }),
    signal: leave.signal,
  });
  expect(answer.status).toBe(200);
  const events = await audit("action=sandbox.execute");
  leave.abort();
  expect(events.map(({ resource, outcome }) => [resource.id, outcome])).toEqual([[id, "success"]]);
});

test("what is forbidden is in the log with its code, reading too, and ids that cannot be are not", async () => {
  const { id, token } = await mint();
  await sql`update api_tokens set scopes = '{sandboxes:read}' where id = ${id}`.execute(world.db);
  const sandbox = await world.createSandbox();
  const refused = [
    await world.call("DELETE", `/v1/sandboxes/${sandbox.id}`, { token }),
    await world.call("GET", `/v1/sandboxes/${sandbox.id}/files/etc/shadow`, { token }),
    await world.call("GET", "/v1/audit", { token }),
    await world.call("POST", "/v1/sandboxes/hunter2/keepalive", { token, body: {} }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
  const events = await audit(`token_id=${id}`);
  const found = events.map(
    ({ action, resource, outcome, code }) => `${action} ${resource.id} ${outcome} ${code}`,
  );
  expect(found.toSorted()).toEqual([
    "audit.list null denied forbidden",
    `sandbox.destroy ${sandbox.id} denied forbidden`,
    `sandbox.file.download ${sandbox.id} denied forbidden`,
    "sandbox.keepalive null denied forbidden",
  ]);
});

test("a call that breaks off on our side is in the log as a failure", async () => {
  const { id } = await world.createSandbox();
  await world.host.stop();
  await world.call("POST", `/v1/sandboxes/${id}/execute`, { body: { command: "true" } });
  await world.call("POST", "/v1/sandboxes", { body: { template: "base" } });
  await world.host.start();
  const failures = (await audit()).filter(({ outcome }) => outcome === "failure");
  expect(failures.map(({ action, code }) => `${action} ${code}`).toSorted()).toEqual([
    "sandbox.create host_unavailable",
    "sandbox.execute host_unavailable",
  ]);
});

test("an action that there is not is refused, with the one that is meant", async () => {
  const remedies: Readonly<Record<string, RegExp>> = {
    "sandbox.creat": /^Did you mean "sandbox\.create"\?$/,
    "token.forge": /^Use one of token\.create, token\.list, token\.revoke\.$/,
    nonsense: /^Use one of app\.create, app\.delete, .*, user\.get\.$/,
  };
  for (const [action, remedy] of Object.entries(remedies)) {
    const answer = await world.call("GET", `/v1/audit?action=${action}`);
    expect([answer.status, answer.body]).toEqual([
      400,
      expect.objectContaining({
        code: "bad_request",
        remediation: expect.stringMatching(remedy) as string,
        context: { field: "action", value: action },
      }),
    ]);
  }
  expect((await world.call("GET", "/v1/audit?action=sandbox.file.upload")).status).toBe(200);
});

test("what the platform does by itself is in the log of the organization that it is done to", async () => {
  await bootstrap(world.db, "again");
  const expired = await world.createSandbox();
  const ended = await world.createSandbox();
  await sql`update sandboxes set expires_at = now() where id = ${expired.id}`.execute(world.db);
  world.host.end(ended.id, "the guest ran out of memory");
  await sandboxReaper(world.context, 1_000, 30).activate(never);
  await vmReconciler(world.context, 1_000).activate(never);
  const own = (await audit()).filter(({ actor }) => actor.kind === "system");
  const found = own.map(({ actor, action, resource }) => `${actor.service} ${action} ${resource.id}`);
  expect(found.map((line) => line.replace(/tok_\w+/, "TOKEN")).toSorted()).toEqual([
    "bootstrap token.create TOKEN",
    "bootstrap token.create TOKEN",
    `sandbox-reaper sandbox.expire ${expired.id}`,
    `vm-cleanup sandbox.fail ${ended.id}`,
  ]);
  expect(own[0]?.actor).toMatchObject({ user_id: null, token_id: null, address: null });
});

test("a creation that is answered again is in the log once", async () => {
  const headers = { "idempotency-key": "same" };
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await world.call("POST", "/v1/sandboxes", { body: { template: "base" }, headers });
    await world.call("POST", "/v1/auth/tokens", { body: {}, headers: { "idempotency-key": "token" } });
  }
  expect(await audit("action=sandbox.create")).toHaveLength(1);
  expect((await audit("action=token.create")).filter(({ actor }) => actor.kind === "user")).toHaveLength(1);
});

test("a token is not minted where its event cannot be stored", async () => {
  await sql`alter table audit_events rename to hidden`.execute(world.db);
  const answer = await world.call("POST", "/v1/auth/tokens", { body: { name: "unrecorded" } });
  await sql`alter table hidden rename to audit_events`.execute(world.db);
  expect(answer.status).toBe(500);
  const { rows } = await sql`select 1 from api_tokens where name = 'unrecorded'`.execute(world.db);
  expect(rows).toEqual([]);
});

test("a sandbox does not run where its event cannot be stored", async () => {
  await sql`alter table audit_events rename to hidden`.execute(world.db);
  const answer = await world.call("POST", "/v1/sandboxes", { body: { template: "base" } });
  await sql`alter table hidden rename to audit_events`.execute(world.db);
  expect(answer.status).toBe(500);
  const { rows } = await sql<{ status: string }>`select status from sandboxes`.execute(world.db);
  expect(rows).toEqual([{ status: "creating" }]);
});

test("a sandbox that was destroyed while it was created was not created", async () => {
  world.host.beforeStart = async (id) => {
    await world.call("DELETE", `/v1/sandboxes/${id}`);
  };
  const answer = await world.call("POST", "/v1/sandboxes", { body: { template: "base" } });
  world.host.beforeStart = async () => undefined;
  expect(answer.status).toBe(409);
  expect((await audit()).map(({ action }) => action)).toContain("sandbox.destroy");
  expect(await audit("action=sandbox.create")).toEqual([]);
});

test("an event that cannot be stored afterwards is in the log of control, and the caller still has what was done", async () => {
  const { id } = await world.createSandbox();
  await sql`alter table audit_events rename to hidden`.execute(world.db);
  const answer = await world.call("DELETE", `/v1/sandboxes/${id}`);
  await sql`alter table hidden rename to audit_events`.execute(world.db);
  expect(answer.status).toBe(204);
  const line = world.log.find(({ msg }) => msg === "an audit event could not be stored");
  expect(line?.["audit_event"]).toMatchObject({
    action: "sandbox.destroy",
    resource_id: id,
    outcome: "success",
  });
});

test("the database itself refuses to change the log, and to delete what is young", async () => {
  await world.createSandbox();
  for (const attempt of [
    sql`update audit_events set outcome = 'denied'`,
    sql`update audit_events set at = now() - interval '1 year'`,
    sql`delete from audit_events`,
    sql`truncate audit_events`,
  ]) {
    await expect(attempt.execute(world.db)).rejects.toThrow("append-only");
  }
  expect(await audit()).toHaveLength(2);
});

test("events go when they are older than they are kept, and not before, in batches", async () => {
  await sql`
    insert into audit_events (id, org_id, at, action, resource_kind, outcome)
    select 'aud_0' || lpad(n::text, 25, '0'), ${world.orgId}, now() - interval '40 days', 'old.act', 'old', 'success'
    from generate_series(1, 1500) n`.execute(world.db);
  const sweep = (keptDays: number) => auditSweeper(world.context, 1_000, keptDays).activate(never);
  expect(await sweep(41)).toMatchObject({ changed: 0, more: false });
  expect(await sweep(39)).toMatchObject({ changed: 1_000, more: true });
  expect(await sweep(39)).toMatchObject({ changed: 500, more: false });
  expect(await audit()).toHaveLength(1);
});

test("the log is filtered, paged newest first, and each organization has its own", async () => {
  const { id } = await world.createSandbox();
  const other = await world.createSandbox();
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  const all = await audit();
  expect(all.map((event) => event.action)).toEqual([
    "sandbox.destroy",
    "sandbox.create",
    "sandbox.create",
    "token.create",
  ]);
  const actions = async (query: string) => (await audit(query)).map(({ action }) => action);
  expect(await actions(`resource_id=${id}`)).toEqual(["sandbox.destroy", "sandbox.create"]);
  expect(await actions(`action=sandbox.create&resource_id=${other.id}`)).toEqual(["sandbox.create"]);
  expect(await actions(`user_id=${all[0]?.actor.user_id}`)).toHaveLength(3);
  expect(await actions("user_id=usr_00000000000000000000000000")).toEqual([]);
  const second = all[2]?.at ?? "";
  expect(await actions(`since=${second}`)).toHaveLength(3);
  expect(await actions(`until=${second}`)).toEqual(["token.create"]);
  expect(await actions("since=2100-01-01")).toEqual([]);
  const first = await world.call<AuditList>("GET", "/v1/audit?limit=3");
  const rest = await world.call<AuditList>("GET", `/v1/audit?limit=3&cursor=${first.body.next_cursor}`);
  expect([...first.body.items, ...rest.body.items]).toEqual(all);
  expect(rest.body.next_cursor).toBeNull();
  const times = ["since=yesterday", "until=2026-13-01", "since=2026-01-01T00:00:00"];
  for (const bad of [...times, "limit=0", "cursor=x", "actor=me", "action=%00"]) {
    expect((await world.call("GET", `/v1/audit?${bad}`)).status, bad).toBe(400);
  }
  const stranger = await world.call<AuditList>("GET", "/v1/audit", { token: await world.strangerToken() });
  expect(stranger.body.items.map(({ organization_id }) => organization_id)).not.toContain(world.orgId);
});

test("only an admin reads the log", async () => {
  await sql`update memberships set role = 'member'`.execute(world.db);
  expect((await world.call("GET", "/v1/audit")).body["code"]).toBe("forbidden");
});

test("no secret that a client sends is in the log", async () => {
  const secret = "hunter2hunter2";
  const { id } = await world.createSandbox({ name: secret, env: { A: secret }, metadata: { a: secret } });
  const run = `/v1/sandboxes/${id}/execute`;
  await world.call("POST", run, { body: { command: secret, env: { KEY: secret }, workdir: `/${secret}` } });
  await world.call("PUT", `/v1/sandboxes/${id}/files/${secret}`, { body: secret });
  await world.call("POST", "/v1/auth/tokens", { body: { name: secret } });
  await world.call("DELETE", `/v1/auth/tokens/${secret}`);
  await world.call("DELETE", `/v1/sandboxes/${id}?${secret}=${secret}`, {
    headers: { "user-agent": secret },
  });
  await world.host.stop();
  await world.call("POST", run, { body: { command: secret } });
  await eventually(async () => (await audit()).length >= 6, "all events are there");
  const { rows } = await sql<{ dump: string }>`select e::text as dump from audit_events e`.execute(world.db);
  const dump = rows.map((row) => row.dump).join("\n");
  expect(dump).not.toContain(secret);
  expect(dump).not.toContain(world.token.slice(3));
});
