// Refusals in the audit log: equal ones are one event with a count, and no organization's refusals fill it.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AuditEvent, AuditList } from "@skerry/contract/audit/audit-event";
import { newId } from "@skerry/contract/ids";
import { recordFolded, succeeded } from "../src/audit/audit-log.ts";
import { AuditTrail } from "../src/audit/audit-trail.ts";
import { FoldedEvents } from "../src/audit/folded-events.ts";
import type { NewAuditEvent } from "../src/audit/insert-audit-events.ts";
import { openReplica } from "./support/replica.ts";
import { World } from "./support/world.ts";

let world: World;
let refusals: FoldedEvents;
beforeEach(async () => {
  world = await World.open();
  refusals = new FoldedEvents({ action: "organization.refusals", resource_kind: "organization" }, (events) =>
    recordFolded(world.context, events),
  );
});
afterEach(async () => {
  await refusals.close();
  await world[Symbol.asyncDispose]();
});

/** Those that tell of refusals, oldest first. */
async function denied(query = ""): Promise<AuditEvent[]> {
  const answer = await world.call<AuditList>("GET", `/v1/audit?limit=500${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.items.filter(({ outcome }) => outcome === "denied").toReversed();
}

const counts = (events: readonly AuditEvent[]) => events.map(({ count }) => count);
const sum = (events: readonly AuditEvent[]) => events.reduce((total, { count }) => total + count, 0);

function refusal(change: Partial<NewAuditEvent> = {}): NewAuditEvent {
  return {
    id: newId("audit"),
    org_id: world.orgId,
    service: null,
    user_id: "usr_a",
    detail: null,
    token_id: "tok_a",
    address: "192.0.2.1",
    request_id: "req_a",
    action: "host.list",
    resource_kind: "host",
    resource_id: null,
    outcome: "denied",
    code: "forbidden",
    ...change,
  };
}

test("four hundred refusals of one token are a few events, whose counts add up", async () => {
  const { body } = await world.call<{ id: string; token: string }>("POST", "/v1/auth/tokens", {
    body: { scopes: ["sandboxes:read"] },
  });
  let last: string | null = null;
  {
    await using replica = await openReplica(world);
    const list = () => world.call("GET", "/v1/hosts", { url: replica.url, token: body.token });
    expect((await list()).status).toBe(403);
    expect(counts(await denied(`&token_id=${body.id}`))).toEqual([1]);
    for (let n = 0; n < 38; n += 1) await Promise.all(Array.from({ length: 10 }, list));
    for (let n = 0; n < 19; n += 1) last = (await list()).headers.get("x-request-id");
  }
  // The replica has closed, which stores what it has counted. A minute may have ended while it was counting.
  const events = await denied(`&token_id=${body.id}`);
  expect(sum(events)).toBe(400);
  expect(events.length).toBeLessThan(20);
  expect(events.at(-1)).toMatchObject({
    action: "host.list",
    code: "forbidden",
    request_id: last,
    actor: { kind: "user", token_id: body.id, address: "127.0.0.1" },
  });
});

test("refusals that go on are one event a minute, and after a quiet minute the first is stored at once again", async () => {
  await refusals.add(refusal());
  expect(counts(await denied())).toEqual([1]);
  for (let n = 0; n < 5; n += 1) await refusals.add(refusal());
  expect(counts(await denied())).toEqual([1]);
  await refusals.endMinute();
  for (let n = 0; n < 7; n += 1) await refusals.add(refusal());
  expect(counts(await denied())).toEqual([1, 5]);
  await refusals.endMinute();
  expect(counts(await denied())).toEqual([1, 5, 7]);
  await refusals.endMinute();
  await refusals.add(refusal());
  expect(counts(await denied())).toEqual([1, 5, 7, 1]);
});

test("another token, action or code is another kind, and an event says only what its refusals have in common", async () => {
  const other = { resource_id: newId("sandbox"), request_id: "req_last" };
  for (let n = 0; n < 3; n += 1) {
    await refusals.add(refusal());
    await refusals.add(refusal({ token_id: "tok_b", address: `192.0.2.${n}` }));
    await refusals.add(refusal({ action: "host.get", ...(n === 2 ? other : {}) }));
    await refusals.add(refusal({ code: "quota_exceeded" }));
  }
  expect(counts(await denied())).toEqual([1, 1, 1, 1]);
  await refusals.endMinute();
  const events = await denied();
  // Ids of the same millisecond have no order.
  expect(counts(events).toSorted((a, b) => a - b)).toEqual([1, 1, 1, 1, 2, 2, 2, 2]);
  const folded = events.filter(({ count }) => count === 2);
  const found = folded.map(({ actor, action, code, resource, request_id }) =>
    [actor.token_id, actor.address, action, code, resource.id, request_id].join(" "),
  );
  expect(found.toSorted()).toEqual([
    "tok_a 192.0.2.1 host.get forbidden  req_last",
    "tok_a 192.0.2.1 host.list forbidden  req_a",
    "tok_a 192.0.2.1 host.list quota_exceeded  req_a",
    "tok_b  host.list forbidden  req_a",
  ]);
});

test("whatever an organization tries, a minute of its refusals is a bounded number of events, and another's are told apart", async () => {
  for (let n = 0; n < 300; n += 1) {
    const token = n % 100;
    await refusals.add(refusal({ token_id: `tok_${token}`, user_id: `usr_${token % 7}` }));
  }
  await refusals.add(refusal({ org_id: "org_neighbour" }));
  await refusals.endMinute();
  const events = await denied();
  expect(events).toHaveLength(20 + 20 + 20 + 1);
  expect(sum(events)).toBe(300);
  const others = events.filter(({ action }) => action === "organization.refusals");
  expect(others).toHaveLength(20 + 1);
  expect(others.find(({ actor }) => actor.token_id === null)).toMatchObject({
    actor: { kind: "user", user_id: null, token_id: null },
    resource: { kind: "organization", id: world.orgId },
    code: "forbidden",
    count: 60 * 3,
  });
  const { rows } = await sql`select 1 from audit_events where org_id = 'org_neighbour'`.execute(world.db);
  expect(rows).toHaveLength(1);
});

test("whatever one token is refused, what another token is refused stays to be seen", async () => {
  for (let n = 0; n < 40; n += 1) await refusals.add(refusal({ action: `host.list${n}` }));
  await refusals.add(refusal({ token_id: "tok_b", action: "token.create" }));
  await refusals.endMinute();
  const events = await denied();
  expect(events.find(({ actor }) => actor.token_id === "tok_b")).toMatchObject({ action: "token.create" });
  expect(events.filter(({ actor }) => actor.token_id === "tok_a")).toHaveLength(5 + 1);
});

test("what cannot be stored at the end of a minute is in the log of control with its count, and what comes later counts anew", async () => {
  for (let n = 0; n < 4; n += 1) await refusals.add(refusal());
  await sql`alter table audit_events rename to hidden`.execute(world.db);
  await refusals.endMinute();
  await sql`alter table hidden rename to audit_events`.execute(world.db);
  const line = world.log.find(({ msg }) => msg === "an audit event could not be stored");
  expect(line?.["audit_event"]).toMatchObject({ action: "host.list", count: 3 });
  await refusals.add(refusal());
  await refusals.close();
  expect(counts(await denied())).toEqual([1, 1]);
});

test("what is refused after the server has closed is stored at once", async () => {
  await refusals.add(refusal());
  await refusals.close();
  await refusals.add(refusal());
  expect(counts(await denied())).toEqual([1, 1]);
});

test("beyond a day's number the calls of an organization are folded, and none is missing from the sum", async () => {
  const trail = new AuditTrail(world.context, 3);
  const caller = { orgId: world.orgId, userId: "usr_a", tokenId: "tok_a" };
  const calls = ["sandbox.create", "sandbox.destroy"] as const;
  for (let index = 0; index < 40; index += 1)
    for (const action of calls)
      await trail.record(
        {
          ...{ action, resource: "sandbox", caller, resourceId: newId("sandbox") },
          ...{ detail: null, address: "192.0.2.1", requestId: `req_${index}` },
        },
        succeeded,
      );
  expect(
    trail.apart(
      refusal({ action: "sandbox.create", resource_kind: "sandbox", outcome: "success", code: null }),
    ),
  ).toBeUndefined();
  await trail.close();
  const { rows } = await sql<{ action: string; count: number; resource_id: string | null }>`
    select action, count, resource_id from audit_events where outcome = 'success' and resource_kind = 'sandbox'`.execute(
    world.db,
  );
  // Three by themselves, the first of each kind beyond them, and the rest of each kind.
  expect(rows).toHaveLength(7);
  expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(81);
  expect(rows.filter(({ count }) => count > 1).map(({ resource_id }) => resource_id)).toEqual([null, null]);
});

test("what one organization has spent is no other one's", async () => {
  const trail = new AuditTrail(world.context, 1);
  const event = refusal({
    action: "sandbox.create",
    resource_kind: "sandbox",
    outcome: "success",
    code: null,
  });
  expect(trail.apart(event)).toBe(event);
  expect(trail.apart(event)).toBeUndefined();
  const other = { ...event, org_id: newId("organization") };
  expect(trail.apart(other)).toBe(other);
  await trail.close();
});
