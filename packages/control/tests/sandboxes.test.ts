import { sql } from "kysely";
import { expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Sandbox, SandboxList } from "@skerry/contract/sandboxes/sandbox";
import { eventually, useWorld, World } from "./support/world.ts";

const world = useWorld();

const DAY_MS = 24 * 3_600_000;

test("a created sandbox is running, on a host, and shown with all its fields", async () => {
  const before = Date.now();
  const answer = await world.call<Sandbox>("POST", "/v1/sandboxes", {
    body: { template: "base", timeout: "1h30m", env: { A: "1" }, metadata: { team: "x" }, name: "mine" },
  });
  expect(answer.status).toBe(201);
  expect(answer.body).toMatchObject({
    name: "mine",
    template: "base",
    mode: "ephemeral",
    size: "shared-cpu-1x",
    status: "running",
    timeout: "1h30m",
    env: { A: "1" },
    metadata: { team: "x" },
    egress: { mode: "allow_all", allow_cidrs: [], deny_cidrs: [], allow_ports: [], dns: true },
    destroyed_at: null,
    reason: null,
  });
  expect(answer.body.host_id).toMatch(/^hst_/);
  expect(answer.body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(Date.parse(answer.body.expires_at)).toBeGreaterThanOrEqual(before + 90 * 60_000 - 1_000);
  const again = await world.call<Sandbox>("GET", `/v1/sandboxes/${answer.body.id}`);
  expect(again.body).toEqual(answer.body);
  expect(world.host.vms.get(answer.body.id)?.spec).toMatchObject({
    env: { A: "1" },
    hostname: answer.body.id.replace("_", "-"),
  });
});

test("without a timeout a sandbox lives for five minutes from the moment it runs", async () => {
  const sandbox = await world.createSandbox();
  expect(sandbox.timeout).toBe("5m");
  expect(Date.parse(sandbox.expires_at) - Date.parse(sandbox.started_at ?? "")).toBe(300_000);
});

test("a template can be named by its id", async () => {
  const sandbox = await world.createSandbox({ template: "tpl_00000000000000000000000001" });
  expect(sandbox.template).toBe("base");
});

test("destroying works twice, frees the microVM and keeps the row readable", async () => {
  const { id } = await world.createSandbox();
  expect((await world.call("DELETE", `/v1/sandboxes/${id}`)).status).toBe(204);
  expect(world.host.vms.has(id)).toBe(false);
  expect((await world.call("DELETE", `/v1/sandboxes/${id}`)).status).toBe(204);
  const { body } = await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`);
  expect(body).toMatchObject({ status: "destroyed", reason: "destroyed by request" });
  expect(body.destroyed_at).not.toBeNull();
});

test("destroying works from every status", async () => {
  const { id } = await world.createSandbox();
  for (const status of ["creating", "running", "unreachable", "failed", "destroying", "destroyed"]) {
    await sql`update sandboxes set status = ${status} where id = ${id}`.execute(world.db);
    expect((await world.call("DELETE", `/v1/sandboxes/${id}`)).status, status).toBe(204);
    expect((await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`)).body.status, status).toBe("destroyed");
  }
});

test("destroying is remembered where the host does not answer", async () => {
  const { id } = await world.createSandbox();
  world.host.failures.set("destroy", new SkerryError("internal", "device busy"));
  const woken = world.rung.length;
  expect((await world.call("DELETE", `/v1/sandboxes/${id}`)).status).toBe(204);
  world.host.failures.clear();
  expect((await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`)).body.status).toBe("destroying");
  expect(world.rung.length).toBe(woken + 1);
  expect((await world.call("DELETE", `/v1/sandboxes/${id}`)).status).toBe(204);
  expect((await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`)).body.status).toBe("destroyed");
});

test("a sandbox destroyed while it is created ends, and its creator is told", async () => {
  world.host.beforeStart = async (id) => {
    await world.call("DELETE", `/v1/sandboxes/${id}`);
  };
  const answer = await world.call("POST", "/v1/sandboxes", { body: { template: "base" } });
  world.host.beforeStart = async () => undefined;
  expect([answer.status, answer.body["code"]]).toEqual([409, "sandbox_not_running"]);
  const { sandbox_id: id } = answer.body["context"] as { sandbox_id: string };
  expect(world.host.vms.has(id)).toBe(false);
  expect((await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`)).body.status).toBe("destroyed");
});

test("a sandbox that cannot start is failed with the reason and gives everything back", async () => {
  world.host.failures.set("start", new SkerryError("template_not_ready", "The template is still building."));
  const answer = await world.call("POST", "/v1/sandboxes", { body: { template: "base" } });
  world.host.failures.clear();
  expect([answer.status, answer.body["code"]]).toEqual([503, "template_not_ready"]);
  expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
  const failed = await world.call<SandboxList>("GET", "/v1/sandboxes?status=failed&limit=1");
  expect(failed.body.items[0]?.reason).toContain("The template is still building.");
});

test("a client that gives up does not stop the creation", async () => {
  const started = Promise.withResolvers<undefined>();
  const hold = Promise.withResolvers<undefined>();
  world.host.beforeStart = async () => {
    started.resolve(undefined);
    await hold.promise;
  };
  const controller = new AbortController();
  const request = fetch(`${world.url}/v1/sandboxes`, {
    method: "POST",
    headers: { authorization: `Bearer ${world.token}`, "content-type": "application/json" },
    body: JSON.stringify({ template: "base", metadata: { left: "alone" } }),
    signal: controller.signal,
  });
  await started.promise;
  controller.abort();
  await expect(request).rejects.toThrow();
  hold.resolve(undefined);
  world.host.beforeStart = async () => undefined;
  await eventually(async () => {
    const list = await world.call<SandboxList>("GET", "/v1/sandboxes?metadata.left=alone");
    return list.body.items[0]?.status === "running";
  }, "the sandbox runs");
});

test("a keepalive pushes the expiry back and never forward, and more than 24 h is 24 h", async () => {
  const sandbox = await world.createSandbox({ timeout: "10m" });
  const keep = async (body?: unknown) => {
    const answer = await world.call<Sandbox>(
      "POST",
      `/v1/sandboxes/${sandbox.id}/keepalive`,
      body === undefined ? {} : { body },
    );
    expect(answer.status).toBe(200);
    return Date.parse(answer.body.expires_at);
  };
  const first = Date.parse(sandbox.expires_at);
  expect(await keep({ timeout: "1s" })).toBe(first);
  expect(await keep()).toBeGreaterThan(first);
  expect(await keep({ timeout: "1h" })).toBeGreaterThan(first + 49 * 60_000);
  const clamped = await keep({ timeout: "100h" });
  expect(Math.abs(clamped - Date.now() - DAY_MS)).toBeLessThan(60_000);
});

test("a keepalive that comes after the expiry revives nothing, even before the sandbox is destroyed", async () => {
  const { id } = await world.createSandbox();
  await sql`update sandboxes set expires_at = now() - interval '1 ms' where id = ${id}`.execute(world.db);
  const answer = await world.call("POST", `/v1/sandboxes/${id}/keepalive`, { body: { timeout: "1h" } });
  expect([answer.status, answer.body["code"]]).toEqual([409, "sandbox_expired"]);
  expect(answer.body["message"]).toBe("The sandbox has expired: its timeout of 5m is over.");
  expect(answer.body["remediation"]).toContain("keepalive");
  const sandbox = await world.call<Sandbox>("GET", `/v1/sandboxes/${id}`);
  expect(Date.parse(sandbox.body.expires_at)).toBeLessThan(Date.now());
});

test("a sandbox that takes long to create can be kept alive, because its time begins when it runs", async () => {
  const kept: number[] = [];
  world.host.beforeStart = async (id) => {
    await sql`update sandboxes set expires_at = now() - interval '1 ms' where id = ${id}`.execute(world.db);
    kept.push(
      (await world.call("POST", `/v1/sandboxes/${id}/keepalive`, { body: { timeout: "1h" } })).status,
    );
  };
  const { status } = await world.createSandbox();
  world.host.beforeStart = async () => undefined;
  expect([kept, status]).toEqual([[200], "running"]);
});

test("nothing runs in a sandbox that has ended, and the answer says how it ended", async () => {
  const { id } = await world.createSandbox();
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  const calls = [
    ["POST", `/v1/sandboxes/${id}/keepalive`, { timeout: "1m" }],
    ["POST", `/v1/sandboxes/${id}/execute`, { command: "true" }],
    ["GET", `/v1/sandboxes/${id}/files/etc/hosts`, undefined],
  ] as const;
  for (const [method, path, body] of calls) {
    const answer = await world.call(method, path, { body });
    expect([answer.status, answer.body["code"]]).toEqual([409, "sandbox_not_running"]);
    expect(answer.body["message"]).toBe("The sandbox is destroyed (destroyed by request).");
  }
});

test("there is room for as many sandboxes as the host has memory, and then 503 with a time to retry", async () => {
  await using small = await World.open();
  small.host.memoryMib = 600;
  await small.beat();
  const created = await Promise.all(
    [1, 2, 3, 4].map(() => small.call("POST", "/v1/sandboxes", { body: { template: "base" } })),
  );
  expect(created.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([201, 201, 503, 503]);
  const refused = created.find((answer) => answer.status === 503);
  expect(refused?.body["code"]).toBe("no_capacity");
  expect(refused?.headers.get("retry-after")).toMatch(/^\d+$/);
  const winner = created.find((answer) => answer.status === 201);
  await small.call("DELETE", `/v1/sandboxes/${String(winner?.body["id"])}`);
  expect((await small.call("POST", "/v1/sandboxes", { body: { template: "base" } })).status).toBe(201);
  const large = await small.call("POST", "/v1/sandboxes", {
    body: { template: "base", size: "performance-1x" },
  });
  expect([large.status, large.body["code"]]).toEqual([422, "size_too_large"]);
});

test("while the operator has the hosts drained the answer says so, and what lets one have VMs again", async () => {
  await using drained = await World.open();
  const create = async () => {
    const { status, body } = await drained.call("POST", "/v1/sandboxes", { body: { template: "base" } });
    return { status, ...body };
  };
  const remediation = expect.stringContaining("skerry host activate") as string;
  for (const [state, message] of [
    ["draining", "No host takes new VMs now: 1 is being drained."],
    ["maintenance", "No host takes new VMs now: 1 is in maintenance."],
  ]) {
    await sql`update hosts set desired = 'drained', status = ${state}`.execute(drained.db);
    expect(await create()).toMatchObject({ status: 503, code: "host_draining", message, remediation });
  }
  await sql`insert into hosts select (jsonb_populate_record(hosts,
    '{"id": "hst_other", "name": "other", "address": "unix:/nowhere", "status": "offline", "desired": "active"}')).* from hosts`.execute(
    drained.db,
  );
  const message = "No host is online to take the VM: 1 is in maintenance, 1 is offline.";
  expect(await create()).toMatchObject({ status: 503, code: "host_unavailable", message, remediation });
});

test("without a host that lives there is no sandbox, and the answer says when to try again", async () => {
  await using lonely = await World.open();
  await sql`update hosts set last_heartbeat = now() - interval '31 s'`.execute(lonely.db);
  const answer = await lonely.call("POST", "/v1/sandboxes", { body: { template: "base" } });
  expect([answer.status, answer.body["code"]]).toEqual([503, "host_unavailable"]);
  await lonely.beat();
  await lonely.host.stop();
  const down = await lonely.call("POST", "/v1/sandboxes", { body: { template: "base" } });
  expect([down.status, down.body["code"]]).toEqual([503, "host_unavailable"]);
  expect(down.headers.get("retry-after")).toMatch(/^\d+$/);
});
