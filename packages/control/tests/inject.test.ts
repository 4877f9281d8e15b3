// Secrets that requests get on their way out: what policies may say, and what hosts are told.

import { sql } from "kysely";
import { afterEach, beforeAll, expect, test } from "vitest";
import type { AuditEvent } from "@skerry/contract/audit/audit-event";
import type { HostEgress } from "@skerry/contract/vms/egress";
import { injectionAuditor } from "../src/vms/injection-audit.ts";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import { Members } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const VALUE = "correct-horse-battery-staple";
const rule = { host: "api.example.com", secret: "API_KEY", header: "Authorization", format: "Bearer {}" };

beforeAll(async () => {
  world.host.memoryMib = 1_000_000;
  world.host.cpus = 64;
  await world.beat();
});
afterEach(async () => {
  await sql`delete from secret_versions`.execute(world.db);
});

const set = (value: string) => world.call("PUT", "/v1/secrets/API_KEY", { body: { value } });
const create = (egress: object, { token = world.token, ...fields }: Record<string, unknown> = {}) =>
  world.call<{ id: string; code: string; egress: object }>("POST", "/v1/sandboxes", {
    token: String(token),
    body: { template: "base", egress, ...fields },
  });
const cleanUp = () => vmReconciler(world.context, 1_000).activate(new AbortController().signal);
const specOf = (id: string) => world.host.vms.get(id)?.spec;
const toldTo = (id: string): HostEgress | undefined => specOf(id)?.egress;

test("a host gets the value, the guest a placeholder and where its certificates are, and rows neither", async () => {
  await set(VALUE);
  const { status, body } = await create(
    { allow_domains: ["API.example.com"], inject: [{ ...rule, host: "Api.Example.com" }] },
    { env: { PIP_CERT: "/own.pem" } },
  );
  expect(status).toBe(201);
  expect(toldTo(body.id)?.inject).toEqual([rule]);
  expect(toldTo(body.id)?.injection).toEqual({
    vm: body.id,
    seed: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    values: { API_KEY: VALUE },
  });
  expect(specOf(body.id)?.env).toMatchObject({
    API_KEY: "skerry-secret:API_KEY",
    PIP_CERT: "/own.pem",
    NODE_EXTRA_CA_CERTS: "/run/skerry/egress-authority.pem",
  });
  const shown = await world.call(`GET`, `/v1/sandboxes/${body.id}/egress`);
  expect(shown.body).toMatchObject({ inject: [rule] });
  const { rows } = await sql<{ text: string }>`select to_jsonb(vms)::text as text from vms`.execute(world.db);
  const { seed } = toldTo(body.id)?.injection ?? {};
  for (const kept of [VALUE, seed ?? ""])
    expect(JSON.stringify([rows, shown.body, body, world.log])).not.toContain(kept);
});

test("each version of a secret reaches what runs, and one that is deleted is taken away", async () => {
  await set(VALUE);
  const { body } = await create({ inject: [rule] });
  const values = () => toldTo(body.id)?.injection?.values;
  const seed = toldTo(body.id)?.injection?.seed;
  await set("another-value");
  await cleanUp();
  expect(values()).toEqual({ API_KEY: "another-value" });
  await world.call("POST", "/v1/secrets/API_KEY/rollback", { body: { version: 1 } });
  await cleanUp();
  expect(values()).toEqual({ API_KEY: VALUE });
  await world.call("DELETE", "/v1/secrets/API_KEY");
  await cleanUp();
  expect(values()).toEqual({});
  expect(toldTo(body.id)?.injection?.seed).toBe(seed);
});

test("a value that is too short to be hidden, or too long for a head, does not go to the host", async () => {
  await set(VALUE);
  const { body } = await create({ inject: [rule] });
  for (const value of ["7-bytes", "x".repeat(4_097)]) {
    await set(value);
    await cleanUp();
    expect(toldTo(body.id)?.injection?.values).toEqual({});
  }
});

test("each VM has a seed of its own, also a fork", async () => {
  await set(VALUE);
  const { body } = await create({ inject: [rule] });
  const forks = await world.call<{ items: { id: string }[] }>("POST", `/v1/sandboxes/${body.id}/fork`, {
    body: {},
  });
  const fork = toldTo(forks.body.items[0]?.id ?? "")?.injection;
  expect([fork?.vm === body.id, fork?.values]).toEqual([false, { API_KEY: VALUE }]);
  expect(fork?.seed).not.toBe(toldTo(body.id)?.injection?.seed);
});

test.each([
  [{ inject: [{ ...rule, secret: "MISSING" }] }, "secret_not_found"],
  [{ allow_domains: ["other.example.com"], inject: [rule] }, "egress_conflict"],
  [{ allow_domains: ["api.example.com"], inject: [{ ...rule, host: "*.example.com" }] }, "egress_conflict"],
  [{ deny_domains: ["*.example.com"], inject: [rule] }, "egress_conflict"],
  [{ inject: [{ ...rule, host: "203.0.113.9" }] }, "invalid_domain"],
  [{ inject: [{ ...rule, host: "*" }] }, "invalid_domain"],
  [{ inject: [{ ...rule, header: "Host", format: undefined }] }, "bad_request"],
  [{ inject: [{ ...rule, header: "X\r\nY" }] }, "bad_request"],
  [{ inject: [{ ...rule, format: "Bearer" }] }, "bad_request"],
  [{ inject: [{ ...rule, format: "{}\r\nHost: evil" }] }, "bad_request"],
  [{ inject: [{ ...rule, query: "key" }] }, "bad_request"],
  [{ inject: [{ host: "api.example.com", secret: "API_KEY" }] }, "bad_request"],
  [{ inject: [{ ...rule, paths: ["v1"] }] }, "bad_request"],
  [{ inject: Array.from({ length: 33 }, () => rule) }, "bad_request"],
])("a policy that cannot be carried out is refused: %j", async (egress, code) => {
  await set(VALUE);
  expect((await create(egress)).body.code).toBe(code);
});

test("a rule sends a secret to whom it names, so it needs secrets:read, and its own organization's secrets", async () => {
  await set(VALUE);
  const { body } = await create({});
  const minted = await world.call<{ token: string }>("POST", "/v1/auth/tokens", {
    body: { scopes: ["sandboxes:read", "sandboxes:write", "sandboxes:execute"] },
  });
  const { token } = minted.body;
  expect((await create({ inject: [rule] }, { token })).status).toBe(403);
  const put = (as: string, id: string) =>
    world.call("PUT", `/v1/sandboxes/${id}/egress`, { token: as, body: { inject: [rule] } });
  expect((await put(token, body.id)).status).toBe(403);
  expect((await put(world.token, body.id)).status).toBe(200);
  const members = new Members(world);
  const { path } = await members.newOrganization();
  const stranger = (await members.newMember("owner", path)).secret;
  expect((await create({ inject: [rule] }, { token: stranger })).body.code).toBe("secret_not_found");
});

test("builds inject nothing", async () => {
  await set(VALUE);
  const { body } = await world.call<{ code: string }>("POST", "/v1/templates", {
    body: { name: "web", steps: [{ run: "true" }], egress: { inject: [rule] } },
  });
  expect(body.code).toBe("bad_request");
});

test("which requests got a secret is in the report of a VM's egress, and counted in its log", async () => {
  await set(VALUE);
  const { body } = await create({ inject: [rule] });
  const told = { host: "api.example.com", secret: "API_KEY", count: 3, last_at: new Date().toISOString() };
  world.host.injected = [told];
  const report = await world.call(`GET`, `/v1/sandboxes/${body.id}/egress`);
  expect(report.body["injected"]).toEqual([told]);
  const { body: log } = await world.call<{ items: object[] }>("GET", `/v1/sandboxes/${body.id}/events`);
  expect(log.items).toContainEqual(
    expect.objectContaining({ kind: "injected", reason: "API_KEY to api.example.com", count: 3 }),
  );
  world.host.injected = [];
});

test("the audit log has each secret that requests got, once a minute with its count, and once more when the VM ends", async () => {
  await set(VALUE);
  const { body } = await create({ inject: [rule] });
  const counted = (count: number) => {
    const one = { host: rule.host, secret: rule.secret, count, last_at: new Date().toISOString() };
    world.host.injected = [one];
  };
  const look = () => injectionAuditor(world.context, 60_000).activate(new AbortController().signal);
  const told = async () => {
    const path = "/v1/audit?action=secret.inject&resource_id=API_KEY";
    const { items } = (await world.call<{ items: AuditEvent[] }>("GET", path)).body;
    return items.filter(({ detail }) => detail === `to ${rule.host} by ${body.id}`).map(({ count }) => count);
  };
  counted(3);
  await look();
  await look();
  expect(await told()).toEqual([3]);
  counted(10);
  await look();
  expect(await told()).toEqual([7, 3]);
  // The name proxy has begun anew.
  counted(4);
  await Promise.all(Array.from({ length: 8 }, look));
  expect(await told()).toEqual([4, 7, 3]);
  counted(5);
  await world.call("DELETE", `/v1/sandboxes/${body.id}`);
  expect(await told()).toEqual([1, 4, 7, 3]);
  world.host.injected = [];
});

test("a host that cannot say what it has injected keeps no VM from its end", async () => {
  await set(VALUE);
  const { body } = await create({ inject: [rule] });
  world.host.fail("egress");
  expect((await world.call("DELETE", `/v1/sandboxes/${body.id}`)).status).toBe(204);
});
