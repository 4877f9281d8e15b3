// The audit log as a file.

import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { setTimeout } from "node:timers/promises";
import { sql } from "kysely";
import { expect, test } from "vitest";
import type { AuditEvent, AuditList } from "@skerry/contract/audit/audit-event";
import { CSV_HEADER, csvLine } from "../src/audit/audit-csv.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();

async function exported(query = "", token = world.token) {
  const response = await fetch(`${world.url}/v1/audit/export?${query}`, { headers: { "x-api-key": token } });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const eventsIn = (text: string) =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AuditEvent);

async function addEvents(count: number, action: string): Promise<void> {
  await sql`
    insert into audit_events (id, at, org_id, user_id, action, resource_kind, outcome, count, detail)
    select 'aud_0' || lpad(n::text, 25, '0'), now(), ${world.orgId}, 'usr_1', ${action}, 'sandbox', 'success', 1, null
    from generate_series(1, ${count}::integer) n`.execute(world.db);
}

async function begun(query: string, token = world.token): Promise<IncomingMessage> {
  const request = get(`${world.url}/v1/audit/export?${query}`, { headers: { "x-api-key": token } });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return response;
}

test("an export has every event that the list has, in its order, and the same filters", async () => {
  for (const name of ["a", "b"]) await world.call("POST", "/v1/auth/tokens", { body: { name } });
  await world.createSandbox();
  const { headers, text } = await exported();
  expect([headers.get("content-type"), headers.get("content-disposition")]).toEqual([
    "application/x-ndjson; charset=utf-8",
    'attachment; filename="audit.ndjson"',
  ]);
  const list = (await world.call<AuditList>("GET", "/v1/audit?limit=500")).body.items;
  expect(
    eventsIn(text)
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(list.map(({ id }) => id).toSorted());
  expect(eventsIn(text)[0]).toEqual(list.find(({ id }) => id === eventsIn(text)[0]?.id));
  const tokens = eventsIn((await exported("action=token.create&format=ndjson")).text);
  expect([tokens.length, new Set(tokens.map(({ action }) => action))]).toEqual([
    3,
    new Set(["token.create"]),
  ]);
  expect((await exported("since=2999-01-01")).text).toBe("");
  expect((await exported("since=2999-01-01&format=csv")).text).toBe(CSV_HEADER);
  expect(eventsIn((await exported("", await world.strangerToken())).text).map(({ id }) => id)).not.toContain(
    list[0]?.id,
  );
  for (const wrong of [
    "format=xml",
    "since=yesterday",
    "action=sandbox.dance",
    "limit=5",
    "cursor=x",
    "user_id=%00",
  ])
    expect([wrong, (await exported(wrong)).status]).toEqual([wrong, 400]);
});

test("more events than fit a piece come once each, as a whole", async () => {
  await addEvents(1_201, "sandbox.pause");
  const { text } = await exported("action=sandbox.pause");
  const ids = eventsIn(text).map(({ id }) => id);
  expect([ids.length, new Set(ids).size]).toEqual([1_201, 1_201]);
  const csv = (await exported("action=sandbox.pause&format=csv")).text.split("\r\n");
  expect([csv.length, csv[0], csv.at(-1)]).toEqual([1_203, CSV_HEADER.trim(), ""]);
});

test("nothing that a command can be called runs in a spreadsheet or in a terminal", async () => {
  const hostile = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "  =1",
    "\uff1d1",
    '"=1',
    "\t=1",
    "\r=1",
    "\n=1",
    'a",=1\r\n=2',
    "\u001b]0;x\u0007",
    "\u009b2J",
    "\u202e",
    "'=1",
  ];
  const shown = hostile.map((detail) => {
    const line = csvLine({ ...event, detail });
    const [cell] = /,sbx_1,("(?:[^"]|"")*"|[^",]*),success,/.exec(line)?.slice(1) ?? [];
    expect(line.match(/[\p{Cc}\u202e]/gu)).toEqual(["\r", "\n"]);
    return cell?.startsWith('"') === true ? cell.slice(1, -1).replaceAll('""', '"') : cell;
  });
  expect(shown).toEqual([
    "'=1+1",
    "'+1",
    "'-1",
    "'@SUM(A1)",
    "'  =1",
    "'\uff1d1",
    '"=1',
    "\\x09=1",
    "\\x0d=1",
    "\\x0a=1",
    'a",=1\\x0d\\x0a=2',
    "\\x1b]0;x\\x07",
    "\\x9b2J",
    "\\u202e",
    "'=1",
  ]);
});

const event: AuditEvent = {
  ...{ id: "aud_1", at: "2026-11-20T16:21:09.423Z", action: "sandbox.execute" },
  actor: {
    ...{ kind: "user", service: null, address: "192.0.2.7" },
    ...{ user_id: "usr_1", user_name: "=Ada", token_id: null, token_name: null },
  },
  resource: { kind: "sandbox", id: "sbx_1", name: "web" },
  ...{ detail: null, outcome: "success", code: null, count: 1, request_id: null, organization_id: "org_1" },
};

test("a line of CSV has what the event has, and nothing in the place of null", () => {
  expect(csvLine(event)).toBe(
    `aud_1,2026-11-20T16:21:09.423Z,user,usr_1,,,192.0.2.7,sandbox.execute,sandbox,sbx_1,,success,,1,,org_1,"'=Ada",,web\r\n`,
  );
});

test("an organization has two exports at once, and one that ends gives its place back", async () => {
  await sql`
    insert into audit_events (id, at, org_id, action, resource_kind, outcome, count, detail)
    select 'aud_1' || lpad(n::text, 25, '0'), now(), ${world.orgId}, 'sandbox.resume', 'sandbox', 'success', 1, repeat('x', 1000)
    from generate_series(1, 40000) n`.execute(world.db);
  const open = [await begun("action=sandbox.resume"), await begun("action=sandbox.resume")];
  const third = await exported("action=sandbox.resume");
  expect([third.status, JSON.parse(third.text)]).toMatchObject([429, { code: "too_many_streams" }]);
  for (const response of open) response.destroy();
  await eventually(async () => (await exported("since=2999-01-01")).status === 200, "a place is free");
});

test("an export that nobody reads ends when its token is revoked", async () => {
  const minted = await world.call<{ id: string; token: string }>("POST", "/v1/auth/tokens", { body: {} });
  const open = [1, 2].map(() => begun("action=sandbox.resume", minted.body.token));
  await Promise.all(open);
  expect((await exported("since=2999-01-01")).status).toBe(429);
  await world.call("DELETE", `/v1/auth/tokens/${minted.body.id}`);
  await eventually(async () => {
    // Asking counts against the rate limit too.
    await setTimeout(200);
    return (await exported("since=2999-01-01")).status === 200;
  }, "a place is free");
  for (const response of open) (await response).destroy();
});

test("an export is made as it is read, and one that breaks off does not look like a whole one", async () => {
  const response = await begun("action=sandbox.resume");
  await sql`alter table audit_events rename to hidden`.execute(world.db);
  try {
    const read = async () => {
      for await (const _ of response);
    };
    await expect(read()).rejects.toThrow("aborted");
  } finally {
    await sql`alter table hidden rename to audit_events`.execute(world.db);
  }
});
