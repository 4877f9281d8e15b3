// Commands and paths in the audit log, for organizations that want them.

import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { AuditEvent, AuditList } from "@skerry/contract/audit/audit-event";
import { done, Members } from "./support/members.ts";
import { type Answer, useWorld } from "./support/world.ts";

const world = useWorld();
let members: Members;
let sandbox: string;
let machine: string;
beforeAll(async () => {
  members = new Members(world);
  sandbox = `/v1/sandboxes/${(await world.createSandbox({ timeout: "1h", name: "by-name" })).id}`;
  machine = `/v1/machines/${(await world.createMachine()).id}`;
});

async function want(audit_details: boolean): Promise<void> {
  await done(200, world.call("PATCH", `/v1/orgs/${world.orgId}`, { body: { audit_details } }));
  // As after the moment for which a token is believed.
  const me = await members.me(world.token);
  world.context.tokenCache.forget(me.user_id);
}

async function eventOf(answer: Answer<unknown>): Promise<AuditEvent> {
  const log = await done(200, world.call<AuditList>("GET", "/v1/audit?limit=500"));
  const event = log.items.find((item) => item.request_id === answer.headers.get("x-request-id"));
  if (event === undefined) throw new Error("the call has no event");
  return event;
}

const execute = (path: string, body: Record<string, unknown>, token = world.token) =>
  world.call("POST", `${path}/execute`, { body, token });

test("by default no command and no path is kept", async () => {
  const secret = "hunter2-not-kept";
  const answers = [
    await execute(sandbox, { command: `echo ${secret}` }),
    await world.call("PUT", `${sandbox}/files/root/${secret}`, { body: "x" }),
  ];
  for (const answer of answers) expect((await eventOf(answer)).detail).toBeNull();
  const { rows } = await sql<{ text: string }>`
    select string_agg(e::text, '') as text from audit_events e`.execute(world.db);
  expect(rows[0]?.text).not.toContain(secret);
});

test("an organization that wants them has commands and paths, and never an environment or a file", async () => {
  await want(true);
  const secret = "hunter2-never";
  for (const path of [sandbox, machine]) {
    const ran = await execute(path, { command: "make test", env: { TOKEN: secret } });
    expect((await eventOf(ran)).detail).toBe("make test");
    const written = await world.call("PUT", `${path}/files/root/a%20b%2541.txt?mode=0600`, { body: secret });
    expect((await eventOf(written)).detail).toBe("/root/a b%41.txt");
  }
  const streamed = await world.call("POST", `${sandbox}/execute`, {
    body: { command: "make stream" },
    headers: { accept: "text/event-stream" },
  });
  expect((await eventOf(streamed)).detail).toBe("make stream");
  const byName = await execute("/v1/sandboxes/by-name", { command: "by name" });
  expect(await eventOf(byName)).toMatchObject({
    detail: "by name",
    resource: { kind: "sandbox", id: sandbox.split("/").at(-1) },
  });
  const { rows } = await sql<{ text: string }>`
    select string_agg(e::text, '') as text from audit_events e`.execute(world.db);
  expect(rows[0]?.text).not.toContain(secret);
});

test("a long command is cut, also in the middle of a character", async () => {
  await want(true);
  const { detail } = await eventOf(await execute(sandbox, { command: `:${"😀".repeat(2_000)}` }));
  expect(detail).toHaveLength(1_001);
  expect(detail?.isWellFormed()).toBe(true);
  expect(detail?.endsWith("…")).toBe(true);
});

test("what breaks off has its command, and what was forbidden has none", async () => {
  await want(true);
  world.host.failures.set("execute", new SkerryError("guest_failed", "It broke."));
  const failed = await execute(sandbox, { command: "exit 9" });
  world.host.failures.clear();
  expect(await eventOf(failed)).toMatchObject({ outcome: "failure", detail: "exit 9" });
  const viewer = await members.newMember("viewer");
  const denied = await execute(sandbox, { command: "cat /etc/shadow" }, viewer.secret);
  expect(await eventOf(denied)).toMatchObject({ outcome: "denied", detail: null });
  const path = await world.call("PUT", `${sandbox}/files/root/planted-by-a-viewer`, {
    body: "x",
    token: viewer.secret,
  });
  expect(path.status).toBe(403);
  expect((await world.call("GET", "/v1/audit?limit=500")).text).not.toContain("planted-by-a-viewer");
});

test("it is the setting of one organization, which an admin changes and which is off again at once", async () => {
  await want(true);
  const elsewhere = await members.newOrganization();
  expect(elsewhere.audit_details).toBe(false);
  const member = await members.newMember("member");
  const refused = await world.call("PATCH", `/v1/orgs/${world.orgId}`, {
    body: { audit_details: false },
    token: member.secret,
  });
  expect(refused.status).toBe(403);
  await want(false);
  expect((await eventOf(await execute(sandbox, { command: "quiet" }))).detail).toBeNull();
});

test("the log is in the order of time, however long a creation took from its beginning to its end", async () => {
  const created = Promise.withResolvers<void>();
  world.host.beforeStart = () => created.promise;
  const slow = world.createSandbox();
  const ran = await execute(sandbox, { command: "true" });
  created.resolve();
  const { id } = await slow;
  world.host.beforeStart = async () => undefined;
  const { items } = await done(200, world.call<AuditList>("GET", "/v1/audit?limit=500"));
  const times = items.map(({ at }) => at);
  expect(times).toEqual(times.toSorted((a, b) => (a < b ? 1 : -1)));
  const at = (find: (event: AuditEvent) => boolean) => items.findIndex(find);
  // Also by their ids, which pages are cut by.
  const ids = items.map((item) => item.id);
  const creation = at((event) => event.resource.id === id);
  const execution = at((event) => event.request_id === ran.headers.get("x-request-id"));
  expect(creation).toBeLessThan(execution);
  expect(String(ids[creation]) > String(ids[execution])).toBe(true);
});
