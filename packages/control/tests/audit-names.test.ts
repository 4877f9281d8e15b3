// Names beside the ids of audit events: of the caller's own things alone.

import { sql } from "kysely";
import { expect, test } from "vitest";
import type { AuditEvent, AuditList } from "@skerry/contract/audit/audit-event";
import { useWorld } from "./support/world.ts";

const world = useWorld();

async function audit(query: string): Promise<AuditEvent[]> {
  const answer = await world.call<AuditList>("GET", `/v1/audit?limit=500&${query}`);
  return [...answer.body.items];
}

test("events have the names of users, tokens and resources, and none of another organization's", async () => {
  const sandbox = await world.createSandbox({ name: "web" });
  const stranger = await world.strangerToken();
  const body = { scopes: ["sandboxes:read"] };
  const reader = await world.call<{ token: string }>("POST", "/v1/auth/tokens", { token: stranger, body });
  const { token } = reader.body;
  expect((await world.call("DELETE", `/v1/sandboxes/${sandbox.id}`, { token })).status).toBe(403);
  const [created] = await audit("action=sandbox.create");
  expect([created?.actor.user_name, created?.actor.token_name, created?.resource.name]).toEqual([
    expect.any(String),
    expect.any(String),
    "web",
  ]);
  const theirs = await world.call<AuditList>("GET", "/v1/audit?action=sandbox.destroy", { token: stranger });
  expect(theirs.body.items.map(({ resource }) => resource)).toEqual([
    { kind: "sandbox", id: sandbox.id, name: null },
  ]);
});

test("events have the names of hosts for the operator alone", async () => {
  const { rows } = await sql<{ id: string; name: string }>`select id, name from hosts`.execute(world.db);
  const [host] = rows;
  const stranger = await world.strangerToken();
  for (const token of [world.token, stranger])
    await world.call("POST", `/v1/hosts/${host?.id}/activate`, { token });
  const namesFor = async (token: string) => {
    const { items } = (await world.call<AuditList>("GET", "/v1/audit?limit=500", { token })).body;
    return items.filter(({ resource }) => resource.id === host?.id).map(({ resource }) => resource.name);
  };
  expect(await namesFor(world.token)).toEqual([host?.name]);
  expect(await namesFor(stranger)).toEqual([null]);
});
