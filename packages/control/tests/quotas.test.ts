// What an organization may hold at once, counted over two replicas and two hosts.

import { newId } from "@skerry/contract/ids";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Limits } from "@skerry/contract/limits/limits-report";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { heartbeat } from "../src/hosts/heartbeat.ts";
import { bootstrap } from "../src/organizations/tokens.ts";
import { setLimits } from "../src/limits/organization-limits.ts";
import { FakeHost } from "./support/fake-host.ts";
import { openReplica, type Replica } from "./support/replica.ts";
import { type Answer, useWorld } from "./support/world.ts";

const world = useWorld();
let other: Replica;
const second = new FakeHost();
beforeAll(async () => {
  second.name = "second";
  second.memoryMib = 1_000_000;
  await second.start();
  // As large: requests at once are spread over both, each under its own lock.
  world.host.memoryMib = 1_000_000;
  await beat();
  other = await openReplica(world);
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await beat();
  await sql`delete from sandboxes`.execute(world.db);
  await sql`delete from organization_limits`.execute(world.db);
});

async function beat(): Promise<void> {
  await world.beat();
  await heartbeat(world.context, { hostSocket: second.socketPath, everyMs: 1_000 }).activate(
    new AbortController().signal,
  );
}

function create(body: object = {}, params: { url?: string; token?: string } = {}): Promise<Answer<Sandbox>> {
  return world.call<Sandbox>("POST", "/v1/sandboxes", { body: { template: "base", ...body }, ...params });
}

test("thirty requests at once over two replicas and two hosts get exactly what the quota has left", async () => {
  await setLimits(world.db, world.orgId, [["quota_sandboxes", 20]]);
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) => create({}, { url: n % 2 === 0 ? world.url : other.url })),
  );
  const made = answers.filter(({ status }) => status === 201);
  expect(made).toHaveLength(20);
  // Each replica sends every other one to the other host, and begins with the same one: it has 16 of the thirty at most.
  const first = made.filter(({ body }) => body.host_id === made[0]?.body.host_id).length;
  expect(first).toBeGreaterThanOrEqual(4);
  expect(first).toBeLessThanOrEqual(16);
  const refused = answers.filter(({ status }) => status === 403);
  expect(refused).toHaveLength(10);
  expect(refused[0]?.body).toMatchObject({
    code: "quota_exceeded",
    context: { quota: "sandboxes", used: 20, requested: 1, limit: 20 },
  });
  await world.call("DELETE", `/v1/sandboxes/${made[0]?.body.id}`);
  expect((await create()).status).toBe(201);
});

test.each([
  ["vcpus", 3, { quota: "vcpus", used: 2, requested: 2, limit: 3 }],
  ["memory_mib", 1_000, { quota: "memory_mib", used: 512, requested: 512, limit: 1_000 }],
  ["disk_gib", 1, { quota: "disk_gib", used: 1, requested: 1, limit: 1 }],
] as const)("a quota of %s is counted by what a sandbox takes", async (quota, limit, context) => {
  await setLimits(world.db, world.orgId, [[`quota_${quota}`, limit]]);
  expect((await create({ size: "shared-cpu-2x" })).status).toBe(201);
  const refused = await create({ size: "shared-cpu-2x" }, { url: other.url });
  expect([refused.status, refused.body]).toMatchObject([403, { code: "quota_exceeded", context }]);
});

test("what has failed holds nothing, and one organization does not fill the quota of another", async () => {
  await setLimits(world.db, world.orgId, [["quota_sandboxes", 1]]);
  world.host.failures.set("start", new SkerryError("host_unavailable", "The host is tired."));
  second.failures.set("start", new SkerryError("host_unavailable", "The host is tired."));
  expect((await create()).status).toBe(503);
  world.host.failures.clear();
  second.failures.clear();
  expect((await create()).status).toBe(201);
  expect((await create()).status).toBe(403);
  expect((await create({}, { token: await world.strangerToken() })).status).toBe(201);
});

test("a machine that never ran holds nothing, also when it is stopped, and counts once when it is started", async () => {
  await setLimits(world.db, world.orgId, [["quota_machines", 1]]);
  const tired = new SkerryError("host_unavailable", "The host is tired.");
  for (const host of [world.host, second]) host.failures.set("start", tired);
  const metadata = { never: "ran" };
  await world.call("POST", "/v1/machines", { body: { template: "base", metadata } });
  for (const host of [world.host, second]) host.failures.clear();
  const list = await world.call<{ items: { id: string }[] }>("GET", "/v1/machines?metadata.never=ran");
  const path = `/v1/machines/${list.body.items[0]?.id}`;
  expect((await world.call("POST", `${path}/stop`)).body["status"]).toBe("stopped");
  expect((await world.call<Limits>("GET", "/v1/limits")).body.quotas.machines.used).toBe(0);
  expect((await world.call("POST", `${path}/start`)).body["status"]).toBe("running");
  expect((await world.call<Limits>("GET", "/v1/limits")).body.quotas.machines.used).toBe(1);
  expect((await world.call("DELETE", path)).status).toBe(204);
});

test("concurrent mints over two replicas make as many tokens as the quota has left, invitations among them", async () => {
  const used = (await world.call<Limits>("GET", "/v1/limits")).body.quotas.tokens.used;
  await setLimits(world.db, world.orgId, [["quota_tokens", used + 10]]);
  const mint = (n: number) =>
    n % 3 === 0
      ? world.call("POST", `/v1/orgs/${world.orgId}/members`, { body: { name: `new ${n}`, role: "viewer" } })
      : world.call<{ id: string }>("POST", "/v1/auth/tokens", {
          body: n % 3 === 1 ? {} : { expires_in: "1h" },
          url: n % 2 === 0 ? world.url : other.url,
        });
  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => mint(n)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
  const refused = answers.filter(({ status }) => status === 403);
  expect(refused).toHaveLength(20);
  expect(refused[0]?.body).toMatchObject({
    code: "quota_exceeded",
    remediation: expect.stringContaining("Revoke"),
    context: { quota: "tokens", used: used + 10, requested: 1, limit: used + 10 },
  });
  expect((await world.call<Limits>("GET", "/v1/limits")).body.quotas.tokens).toEqual({
    used: used + 10,
    limit: used + 10,
  });
});

test("revoked and expired tokens do not count, and one organization's are not another's", async () => {
  const tokens = () => world.call<Limits>("GET", "/v1/limits").then(({ body }) => body.quotas.tokens);
  const stranger = await world.strangerToken();
  const { used } = await tokens();
  await setLimits(world.db, world.orgId, [["quota_tokens", used + 1]]);
  const mint = (body: object, token = world.token) =>
    world.call<{ id: string }>("POST", "/v1/auth/tokens", { body, token });
  const first = await mint({});
  expect(first.status).toBe(201);
  expect((await mint({})).status).toBe(403);
  expect((await mint({}, stranger)).status).toBe(201);
  expect((await world.call("DELETE", `/v1/auth/tokens/${first.body.id}`)).status).toBe(204);
  const short = await mint({ expires_in: "1h" });
  expect(short.status).toBe(201);
  expect((await mint({})).status).toBe(403);
  await sql`update api_tokens set expires_at = now() where id = ${short.body.id}`.execute(world.db);
  expect((await tokens()).used).toBe(used);
  expect((await mint({})).status).toBe(201);
});

test("the operator gets a token on the machine itself, also where the quota is full", async () => {
  await setLimits(world.db, world.orgId, [["quota_tokens", 0]]);
  const { token } = await bootstrap(world.db, "rescue");
  expect((await world.call("GET", "/v1/auth/me", { token })).status).toBe(200);
  expect((await world.call("POST", "/v1/auth/tokens", { token, body: {} })).body).toMatchObject({
    code: "quota_exceeded",
  });
});

test("an organization sees its limits, and how much of them is taken", async () => {
  await setLimits(world.db, world.orgId, [
    ["quota_vcpus", 8],
    ["rate_read_per_minute", 77],
  ]);
  await create({ size: "shared-cpu-4x" });
  const { body } = await world.call<Limits>("GET", "/v1/limits");
  expect(body.rates.read).toEqual({ per_minute: 77, burst: 1_000_000 });
  expect(body.quotas).toMatchObject({
    sandboxes: { used: 1, limit: 1_000_000 },
    machines: { used: 0 },
    vcpus: { used: 4, limit: 8 },
    memory_mib: { used: 1_024 },
    disk_gib: { used: 1 },
  });
  const stranger = await world.call<Limits>("GET", "/v1/limits", { token: await world.strangerToken() });
  expect(stranger.body.quotas.vcpus).toEqual({ used: 0, limit: 1_000_000 });
});

test("a command on the machine takes an organization by its name or a part of its id, and none that is meant twice", async () => {
  const grants = (...args: readonly string[]) =>
    promisify(execFile)(process.execPath, [inject("controlProgram"), "private-cidrs", ...args], {
      env: { SKERRY_DATABASE_URL: world.databaseUrl },
    });
  const { rows } = await sql<{
    name: string;
  }>`select name from organizations where id = ${world.orgId}`.execute(world.db);
  const name = rows[0]?.name ?? "";
  for (const text of [name, world.orgId, world.orgId.slice(0, -4), world.orgId.slice("org_".length)])
    expect((await grants(text)).stdout, text).toBe('{"allowed_private_cidrs":[]}\n');
  await sql`insert into organizations (id, name) values (${newId("organization")}, ${name})`.execute(
    world.db,
  );
  await expect(grants(name)).rejects.toThrow(`${world.orgId}, org_`);
  for (const text of ["", "org_nobody"]) await expect(grants(text)).rejects.toThrow("no organization");
});
