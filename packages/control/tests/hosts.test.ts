import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Host } from "@skerry/contract/hosts/host";
import { drainFinisher } from "../src/moves/drain-finisher.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";

let two: TwoHosts;
beforeEach(async () => {
  two = await TwoHosts.open();
});
afterEach(() => two[Symbol.asyncDispose]());

async function hosts(): Promise<Host[]> {
  return (await two.world.call<{ items: Host[] }>("GET", "/v1/hosts")).body.items;
}

async function host(name: string): Promise<Host> {
  const found = (await hosts()).find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no host ${name}`);
  return (await two.world.call<Host>("GET", `/v1/hosts/${found.id}`)).body;
}

async function params(name: string, verb: "drain" | "activate") {
  return two.world.call<Host & { code?: string }>("POST", `/v1/hosts/${(await host(name)).id}/${verb}`);
}

test("a host shows what it has, what is taken of it, and when it was last heard of", async () => {
  await two.sandboxOn(two.second);
  await sql`update hosts set last_heartbeat = now() - interval '7 s'`.execute(two.world.db);
  const shown = await host("second");
  expect(shown).toMatchObject({
    status: "online",
    desired: "active",
    waits_for: null,
    capacity: { cpus: 2, vcpus: 32, memory_mib: 4096 },
    used: { vcpus: 1, memory_mib: 256, vms: 1 },
    accelerator: "tcg",
    accelerator_reason: "a fake",
    versions: { skerry: "0", qemu: "7.2.0", kernel: "0" },
    templates: [{ name: "base" }],
    usage: null,
  });
  expect(shown.heartbeat_age_s).toBeGreaterThanOrEqual(7);
});

test("hosts are listed newest first, page by page", async () => {
  expect((await hosts()).map(({ name }) => name)).toEqual(["second", "fake"]);
  const first = await two.world.call<{ items: Host[]; next_cursor: string }>("GET", "/v1/hosts?limit=1");
  const rest = await two.world.call<{ items: Host[]; next_cursor: string | null }>(
    "GET",
    `/v1/hosts?limit=1&cursor=${first.body.next_cursor}`,
  );
  expect([first, rest].flatMap(({ body }) => body.items.map(({ name }) => name))).toEqual(["second", "fake"]);
  expect(rest.body.next_cursor).toBeNull();
});

test("a host that is drained gets nothing new, and is in maintenance when its last VM has gone", async () => {
  const id = await two.sandboxOn(two.second);
  expect((await params("second", "drain")).body).toMatchObject({ status: "draining", desired: "drained" });
  await two.world.createSandbox();
  expect(two.second.vms.size).toBe(1);
  await drainFinisher(two.world.context, 1_000).activate(never);
  expect((await host("second")).status).toBe("draining");
  await two.world.call("DELETE", `/v1/sandboxes/${id}`);
  expect(await drainFinisher(two.world.context, 1_000).activate(never)).toMatchObject({ changed: 1 });
  expect((await host("second")).status).toBe("maintenance");
  const answer = await two.world.call<{ items: { action: string }[] }>("GET", "/v1/audit");
  expect(answer.body.items.map(({ action }) => action)).toEqual(
    expect.arrayContaining(["host.drain", "host.drained"]),
  );
});

test("an empty host is in maintenance at once, and asking again changes nothing", async () => {
  const first = await params("second", "drain");
  expect([first.status, first.body.status]).toEqual([200, "maintenance"]);
  const again = await params("second", "drain");
  expect({ ...again.body, heartbeat_age_s: 0 }).toEqual({ ...first.body, heartbeat_age_s: 0 });
  expect((await params("second", "activate")).body).toMatchObject({ status: "online", desired: "active" });
  expect((await params("second", "activate")).body).toMatchObject({ status: "online", desired: "active" });
});

test("activate takes a drain back", async () => {
  await two.sandboxOn(two.second);
  await params("second", "drain");
  await sql`update hosts set waits_for = 'room'`.execute(two.world.db);
  expect((await params("second", "activate")).body).toMatchObject({ status: "online", waits_for: null });
  await drainFinisher(two.world.context, 1_000).activate(never);
  expect((await host("second")).status).toBe("online");
});

test("a host that is offline is drained when it is back, or not, as was wished last", async () => {
  await two.second.stop();
  await two.silence();
  await two.judge();
  expect((await params("second", "drain")).body).toMatchObject({ status: "offline", desired: "drained" });
  expect((await params("second", "activate")).body).toMatchObject({ status: "offline", desired: "active" });
  await params("second", "drain");
  await two.second.start();
  await two.ask();
  expect((await host("second")).status).toBe("draining");
});

test("a host in maintenance that is switched off cannot be activated before it answers", async () => {
  await params("second", "drain");
  await two.second.stop();
  await two.silence();
  const refused = await params("second", "activate");
  expect([refused.status, refused.body.code]).toEqual([409, "host_silent"]);
  await two.second.start();
  await two.ask();
  expect((await params("second", "activate")).body.status).toBe("online");
});

test("a drain and a creation at the same time: the VM is on the host before it, or somewhere else", async () => {
  const creations = Array.from({ length: 8 }, () => two.world.createSandbox());
  await params("second", "drain");
  const created = await Promise.all(creations);
  await drainFinisher(two.world.context, 1_000).activate(never);
  const shown = await host("second");
  const onSecond = created.filter(({ id }) => two.second.vms.has(id));
  expect(shown.status).toBe(onSecond.length === 0 ? "maintenance" : "draining");
  expect(shown.used.vms).toBe(onSecond.length);
});

test("hosts are the operator's: nobody else sees or changes them, and reading is not enough to drain", async () => {
  const { id } = await host("second");
  const stranger = await two.world.strangerToken();
  for (const [method, path] of [
    ["GET", "/v1/hosts"],
    ["GET", `/v1/hosts/${id}`],
    ["POST", `/v1/hosts/${id}/drain`],
    ["POST", `/v1/hosts/${id}/activate`],
  ] as const) {
    expect((await two.world.call(method, path, { token: stranger })).status).toBe(403);
  }
  const reader = await two.world.call<{ token: string }>("POST", "/v1/auth/tokens", {
    body: { scopes: ["hosts:read"] },
  });
  const { token } = reader.body;
  expect((await two.world.call("GET", `/v1/hosts/${id}`, { token })).status).toBe(200);
  expect((await two.world.call("POST", `/v1/hosts/${id}/drain`, { token })).status).toBe(403);
  expect((await host("second")).status).toBe("online");
});

test("there is no host of an unknown id", async () => {
  for (const path of ["/v1/hosts/hst_nothing", "/v1/hosts/hst_nothing/drain"]) {
    const method = path.endsWith("drain") ? "POST" : "GET";
    const answer = await two.world.call(method, path);
    expect([answer.status, answer.body["code"]]).toEqual([404, "host_not_found"]);
  }
});
