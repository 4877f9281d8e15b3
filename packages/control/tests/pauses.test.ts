// Persistent sandboxes: what pauses them, what resumes them, and what they hold meanwhile. Crashes on the way are in pause-crashes.test.ts.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Limits } from "@skerry/contract/limits/limits-report";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { setLimits } from "../src/limits/organization-limits.ts";
import { mover } from "../src/moves/mover.ts";
import { sandboxReaper } from "../src/sandboxes/sandbox-reaper.ts";
import { openReplica } from "./support/replica.ts";
import { never } from "./support/two-hosts.ts";
import { World, type Answer } from "./support/world.ts";

let world: World;
let id: string;
beforeEach(async () => {
  world = await World.open();
  id = (await world.createSandbox({ mode: "persistent", name: "desk", env: { A: "b" } })).id;
});
afterEach(() => world[Symbol.asyncDispose]());

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly remediation: string;
  readonly context: Record<string, unknown>;
}

const path = (rest = ""): string => `/v1/sandboxes/${id}${rest}`;
const sandbox = async (): Promise<Sandbox> => (await world.call<Sandbox>("GET", path())).body;
const pause = (): Promise<Answer<Sandbox & Failure>> => world.call("POST", path("/pause"));
const resume = (): Promise<Answer<Sandbox & Failure>> => world.call("POST", path("/resume"));
const execute = (url = world.url): Promise<Answer<Failure>> =>
  world.call("POST", path("/execute"), { body: { command: "true" }, url });
const reap = () => sandboxReaper(world.context, 1_000, 30).activate(never);
const limits = async () => (await world.call<Limits>("GET", "/v1/limits")).body.quotas;
const starts = (): number => world.host.calls.filter((call) => call === `PUT /vms/${id}`).length;

/** Its time is over. */
async function expire(): Promise<void> {
  await sql`update sandboxes set expires_at = now() - interval '1 s' where id = ${id}`.execute(world.db);
}

test("it is paused and resumed by hand, and keeps name, env, labels and policy", async () => {
  const before = await sandbox();
  const paused = await pause();
  expect(paused.status).toBe(200);
  expect(paused.body).toMatchObject({
    status: "paused",
    reason: null,
    paused_at: expect.any(String) as string,
  });
  expect(world.host.vms.get(id)?.status).toBe("paused");
  const resumed = await resume();
  const { expires_at, ...same } = before;
  expect(resumed.body).toMatchObject({ ...same, status: "running", paused_at: null });
  expect(Date.parse(resumed.body.expires_at)).toBeGreaterThan(Date.parse(expires_at));
  expect(world.host.vms.get(id)?.spec).toMatchObject({ from: { kind: "paused" }, env: { A: "b" } });
});

test("pausing what is paused and resuming what runs changes nothing", async () => {
  expect((await resume()).body.status).toBe("running");
  await pause();
  const { paused_at } = (await pause()).body;
  expect([paused_at, starts()]).toEqual([(await sandbox()).paused_at, 1]);
});

test("while it is paused it holds neither memory nor CPUs, of its organization or of its host, and its disk counts", async () => {
  const running = await limits();
  expect(running.persistent_disk_gib.used).toBe(2);
  await pause();
  const paused = await limits();
  expect(paused).toEqual({
    ...running,
    vcpus: { ...running.vcpus, used: 0 },
    memory_mib: { ...running.memory_mib, used: 0 },
  });
  const { body } = await world.call<{ items: { used: unknown }[] }>("GET", "/v1/hosts");
  expect(body.items[0]?.used).toEqual({ vcpus: 0, memory_mib: 0, vms: 0 });
  await resume();
  expect(await limits()).toEqual(running);
  await world.call("DELETE", path());
  expect((await limits()).persistent_disk_gib.used).toBe(0);
});

test("an ephemeral sandbox cannot be paused, and is told which can", async () => {
  id = (await world.createSandbox()).id;
  const refused = await pause();
  expect([refused.status, refused.body.code]).toEqual([409, "sandbox_not_persistent"]);
  expect(refused.body.remediation).toContain("persistent");
});

test("at the end of its time it is paused and not destroyed, and that is in the audit log", async () => {
  const ephemeral = await world.createSandbox();
  await expire();
  await sql`update sandboxes set expires_at = now() - interval '1 s' where id = ${ephemeral.id}`.execute(
    world.db,
  );
  await reap();
  expect((await sandbox()).status).toBe("paused");
  expect((await world.call<Sandbox>("GET", `/v1/sandboxes/${ephemeral.id}`)).body.status).toBe("destroyed");
  const { body } = await world.call<{ items: { action: string; actor: { service: string } }[] }>(
    "GET",
    "/v1/audit?action=sandbox.pause",
  );
  expect(body.items.map(({ actor }) => actor.service)).toEqual(["sandbox-reaper"]);
  await reap();
  expect((await sandbox()).status).toBe("paused");
});

test("what has been paused for longer than such are kept is destroyed, and says so", async () => {
  await pause();
  await sql`update sandboxes set paused_at = now() - interval '29 days'`.execute(world.db);
  await reap();
  expect((await sandbox()).status).toBe("paused");
  await sql`update sandboxes set paused_at = now() - interval '31 days'`.execute(world.db);
  await reap();
  expect(await sandbox()).toMatchObject({ status: "destroyed", env: { A: null } });
  expect((await sandbox()).reason).toContain("30 days");
  expect(world.host.vms.has(id)).toBe(false);
});

test.each([
  ["a command", () => execute()],
  ["an upload", () => world.call("PUT", path("/files/tmp/a"), { body: "x" })],
  ["a listing", () => world.call("GET", path("/files/tmp/?list=true"))],
])("%s resumes it and waits for that", async (_what, call) => {
  await pause();
  const { status } = await call();
  expect(status).toBe(200);
  expect(await sandbox()).toMatchObject({ status: "running", paused_at: null });
});

test("a resume that a call has caused is in the audit log, once, by whom; one that finds it running is not", async () => {
  const resumes = async () =>
    (
      await world.call<{ items: { actor: object; resource: object; outcome: string }[] }>(
        "GET",
        "/v1/audit?action=sandbox.resume",
      )
    ).body.items;
  await execute();
  expect(await resumes()).toEqual([]);
  await pause();
  await Promise.all([execute(), execute()]);
  expect(await resumes()).toEqual([
    expect.objectContaining({
      actor: expect.objectContaining({
        kind: "user",
        user_id: expect.any(String) as string,
        service: null,
      }) as object,
      resource: { kind: "sandbox", id, name: "desk" },
      outcome: "success",
    }),
  ]);
});

test("a route that is known from before the pause leads to a resume as well", async () => {
  await execute();
  const replica = await openReplica(world);
  world.after(async () => replica[Symbol.asyncDispose]());
  await execute(replica.url);
  await pause();
  expect((await execute(replica.url)).status).toBe(200);
});

test("many calls at once on two replicas resume it once", async () => {
  const replica = await openReplica(world);
  world.after(async () => replica[Symbol.asyncDispose]());
  await pause();
  world.host.pauses.before = () => new Promise((resolve) => setTimeout(resolve, 50));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => execute(index % 2 === 0 ? world.url : replica.url)),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect(starts()).toBe(2);
});

test("a read of it, of its policy or a refused call does not resume it", async () => {
  await pause();
  await sandbox();
  expect((await world.call("GET", path("/egress"))).status).toBe(200);
  await world.call("POST", path("/execute"), { body: { command: "" } });
  const stranger = await world.strangerToken();
  expect((await world.call("POST", path("/resume"), { token: stranger })).status).toBe(404);
  expect((await world.call("POST", path("/pause"), { token: stranger })).status).toBe(404);
  expect((await sandbox()).status).toBe("paused");
});

test("without room on its host it stays paused, and the next try may find some", async () => {
  await pause();
  world.host.memoryMib = 256;
  await world.beat();
  const other = await world.createSandbox();
  for (const refused of [await resume(), await execute()]) {
    expect([refused.status, refused.body.code]).toEqual([503, "no_capacity"]);
    expect(refused.headers.get("retry-after")).toBe("10");
  }
  expect((await sandbox()).status).toBe("paused");
  await world.call("DELETE", `/v1/sandboxes/${other.id}`);
  expect((await resume()).body.status).toBe("running");
});

test("a resume counts against the quota of its organization, and one over it leaves it paused", async () => {
  await pause();
  await setLimits(world.db, world.orgId, [["quota_vcpus", 0]]);
  const refused = await execute();
  expect([refused.status, refused.body.code, refused.body.context["quota"]]).toEqual([
    403,
    "quota_exceeded",
    "vcpus",
  ]);
  expect((await sandbox()).status).toBe("paused");
});

test("the disk of persistent sandboxes has a quota, which counts what runs too, and no other organization's", async () => {
  await setLimits(world.db, world.orgId, [["quota_persistent_disk_gib", 3]]);
  const refused = await world.call<Failure>("POST", "/v1/sandboxes", {
    body: { template: "base", mode: "persistent" },
  });
  expect([refused.status, refused.body.context]).toEqual([
    403,
    { quota: "persistent_disk_gib", used: 2, requested: 2, limit: 3 },
  ]);
  await world.createSandbox();
  const stranger = await world.strangerToken();
  const theirs = await world.call("POST", "/v1/sandboxes", {
    body: { template: "base", mode: "persistent" },
    token: stranger,
  });
  expect(theirs.status).toBe(201);
  expect((await limits()).persistent_disk_gib.used).toBe(2);
});

test("a policy that is stored while it is paused is in force before it runs", async () => {
  await pause();
  const stored = await world.call("PUT", path("/egress"), { body: { mode: "deny_all" } });
  expect(stored.body).toMatchObject({ mode: "deny_all", denied: [] });
  await execute();
  expect(world.host.vms.get(id)?.spec).toMatchObject({ egress: { mode: "deny_all" }, egress_version: 2 });
  const row = await world.db
    .selectFrom("sandboxes")
    .selectAll()
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  expect([row.egress_version, row.egress_applied]).toEqual([2, 2]);
});

test("no time runs while it is paused: a keepalive is refused, and tells what to do", async () => {
  await pause();
  const refused = await world.call<Failure>("POST", path("/keepalive"), { body: {} });
  expect([refused.status, refused.body.code]).toEqual([409, "sandbox_not_running"]);
  expect(refused.body.remediation).toContain("Resume");
});

test("one whose time is over and that still runs can be kept alive", async () => {
  await expire();
  expect((await world.call("POST", path("/keepalive"), { body: {} })).status).toBe(200);
  await reap();
  expect((await sandbox()).status).toBe("running");
});

test.each([
  ["disk_full", 422],
  ["not_snapshotable", 409],
] as const)(
  "where its host answers %s it runs on, says why, and is tried again later",
  async (code, status) => {
    world.host.pauses.failures.set("pause", new SkerryError(code, "no."));
    const refused = await pause();
    expect([refused.status, refused.body.code]).toEqual([status, code]);
    expect(await sandbox()).toMatchObject({ status: "running", reason: "it could not be paused: no." });
    expect((await execute()).status).toBe(200);
    await expire();
    await sql`update sandboxes set retry_at = now()`.execute(world.db);
    await reap();
    const calls = (): number => world.host.calls.filter((call) => call.endsWith("/pause")).length;
    const asked = calls();
    await reap();
    expect([(await sandbox()).status, calls()]).toEqual(["running", asked]);
    world.host.pauses.failures.clear();
    await sql`update sandboxes set retry_at = now()`.execute(world.db);
    await reap();
    expect(await sandbox()).toMatchObject({ status: "paused", reason: null });
  },
);

test.each([
  ["snapshot_damaged", 409],
  ["snapshot_incompatible", 409],
  ["disk_full", 422],
] as const)("where its host answers a resume with %s it stays paused", async (code, status) => {
  await pause();
  const { paused_at } = await sandbox();
  world.host.pauses.failures.set("resume", new SkerryError(code, "no."));
  for (const refused of [await resume(), await execute()])
    expect([refused.status, refused.body.code]).toEqual([status, code]);
  expect(await sandbox()).toMatchObject({ status: "paused", paused_at });
  world.host.pauses.failures.clear();
  expect((await execute()).status).toBe(200);
});

test("it can be destroyed while it is paused, and its name is free then", async () => {
  await pause();
  expect((await world.call("DELETE", path())).status).toBe(204);
  expect([(await sandbox()).status, world.host.vms.has(id)]).toEqual(["destroyed", false]);
  expect((await resume()).body.code).toBe("sandbox_not_running");
  await world.createSandbox({ name: "desk" });
});

test("while its host is drained and there is no other one it stays paused, and the host says what it waits for", async () => {
  await pause();
  const { host_id } = await sandbox();
  await world.call("POST", `/v1/hosts/${host_id}/drain`);
  const refused = await execute();
  expect([refused.status, refused.body.code]).toEqual([503, "host_draining"]);
  expect(refused.body.message).toContain("being drained");
  await mover(world.context, 1_000).activate(never);
  const host = await world.call<{ status: string; waits_for: string }>("GET", `/v1/hosts/${host_id}`);
  expect(host.body.status).toBe("draining");
  expect(host.body.waits_for).toBe(`the paused sandbox ${id} has nowhere to go: no other host is online`);
  await world.call("POST", `/v1/hosts/${host_id}/activate`);
  expect((await execute()).status).toBe(200);
});
