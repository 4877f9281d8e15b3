// Apps from the API to their hosts: deploys with a fake host in the place of machines and proxies.

import { sql } from "kysely";
import { expect, test } from "vitest";
import type { App } from "@skerry/contract/apps/app";
import type { Deploy } from "@skerry/contract/apps/deploy";
import type { Release } from "@skerry/contract/apps/release";
import { useApps, WEB } from "./support/apps.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, getDeploy, pass, untilLive } = useApps(world);

test("the first deploy makes an instance with its release, serves it when its check has passed, and is live", async () => {
  expect(await newApp()).toMatchObject({
    host: "shop.localhost",
    release: null,
    deploy: null,
    instances: [],
  });
  const first = await deploy({ ...WEB, env: { LEVEL: "debug" } });
  expect(first).toMatchObject({ release: 1, status: "queued" });
  await turn();
  const [instance] = (await getApp()).instances;
  expect(instance).toMatchObject({ name: "web.1", release: 1, state: "starting" });
  const spec = world.host.vms.get(instance?.machine_id ?? "")?.spec;
  expect(spec).toMatchObject({ env: { LEVEL: "debug", PORT: "8080" } });
  const { body: machine } = await world.call("GET", `/v1/machines/${instance?.machine_id}`);
  expect(machine).toMatchObject({
    name: "shop/web.1",
    owner: { kind: "app", name: "shop" },
    metadata: { release: "1" },
  });
  await turn();
  expect([(await getDeploy(first)).status, world.host.edge.served()]).toEqual(["checking", {}]);
  await untilLive(first);
  expect(world.host.edge.served()).toEqual({ web: [instance?.machine_id] });
  expect(world.host.edge.document.routes).toMatchObject([{ host: "shop.localhost", path_prefix: "/" }]);
  expect(await getApp()).toMatchObject({ release: 1, instances: [{ state: "serving" }] });
  const { body } = await world.call<{ items: Release[] }>("GET", "/v1/apps/shop/releases");
  expect(body.items).toMatchObject([{ number: 1, template: "base", variables: ["LEVEL"] }]);
  expect(JSON.stringify(body)).not.toContain("debug");
});

test("a later deploy keeps the one before serving until the new one is well, and lets it finish what it has", async () => {
  await newApp();
  await untilLive(await deploy());
  const [old] = (await getApp()).instances;
  const id = old?.machine_id ?? "";
  world.host.edge.sessions.set(id, 1);
  const second = await deploy({ template: "base", env: { A: "1" } });
  await turn();
  expect(world.host.edge.served()).toEqual({ web: [id] });
  for (let turns = 0; turns < 5; turns += 1) {
    await pass();
    await turn();
  }
  const states = (await getApp()).instances.map(({ release, state }) => [release, state]);
  expect(states).toEqual(
    expect.arrayContaining([
      [1, "draining"],
      [2, "serving"],
    ]),
  );
  expect([(await getDeploy(second)).status, world.host.vms.has(id)]).toEqual(["draining", true]);
  const execution = world.host.vms.get(id)?.execution_id;
  const told = () => world.host.stops.map((one) => one.execution_id);
  expect(told()).not.toContain(execution);
  world.host.edge.sessions.clear();
  await untilLive(second);
  expect(told()).toContain(execution);
  expect(world.host.vms.has(id)).toBe(false);
  expect((await getApp()).instances).toMatchObject([{ release: 2, state: "serving" }]);
});

test("a deploy whose process exits has failed in the next turn, says why, and leaves the release before as it was", async () => {
  await newApp();
  await untilLive(await deploy());
  const [old] = (await getApp()).instances;
  const second = await deploy();
  await turn();
  const fresh = (await getApp()).instances.find(({ release }) => release === 2);
  world.host.end(fresh?.machine_id ?? "", "the main process exited with 3");
  await turn();
  await turn();
  expect(await getDeploy(second)).toMatchObject({
    status: "failed",
    reason: { code: "instance_failed", instance: fresh?.machine_id },
  });
  await turn();
  expect(world.host.edge.served()).toEqual({ web: [old?.machine_id] });
  expect(await getApp()).toMatchObject({ release: 1, deploy: { status: "failed" } });
  const { body } = await world.call<{ items: { action: string }[] }>("GET", "/v1/audit?action=deploy.fail");
  expect(body.items).toHaveLength(1);
  // Its log can be read until the next deploy.
  expect((await getApp()).instances.map(({ state }) => state).toSorted()).toEqual(["failed", "serving"]);
  await untilLive(await deploy());
  expect((await getApp()).instances).toHaveLength(1);
});

test("a release that can never start fails its deploy with the error that a machine would answer, and one without room waits", async () => {
  await newApp();
  const limits = `/v1/orgs/${world.orgId}/limits`;
  await world.call("PATCH", limits, { body: { quota_machines: 0 } });
  const refused = await deploy();
  await turn();
  expect(await getDeploy(refused)).toMatchObject({
    status: "failed",
    reason: {
      code: "quota_exceeded",
      message: expect.stringMatching(/web\.1 could not be started: .* 0 of 0 machines/),
    },
  });
  await world.call("PATCH", limits, { body: { quota_machines: null } });
  world.host.memoryMib = 1_000;
  await world.beat();
  await world.call("PATCH", "/v1/apps/shop", { body: { scale: { web: 20 } } });
  const waiting = await deploy();
  await turn();
  expect(await getDeploy(waiting)).toMatchObject({ reason: null, finished_at: null });
  await sql`update deploys set ends_by = now()`.execute(world.db);
  await turn();
  expect(await getDeploy(waiting)).toMatchObject({ status: "failed", reason: { code: "deploy_timed_out" } });
});

test("a deploy can be canceled and superseded, and an earlier release comes back with its environment", async () => {
  await newApp();
  await untilLive(await deploy({ ...WEB, env: { A: "1" } }));
  const second = await deploy({ template: "base", env: { A: "2" } });
  await turn();
  const canceled = await world.call<Deploy>("POST", `/v1/apps/shop/deploys/${second.id}/cancel`, {
    body: {},
  });
  expect(canceled.body.status).toBe("canceled");
  const again = await world.call("POST", `/v1/apps/shop/deploys/${second.id}/cancel`, { body: {} });
  expect([again.status, again.body["code"]]).toEqual([409, "deploy_over"]);
  for (let turns = 0; turns < 4; turns += 1) await turn();
  expect((await getApp()).instances).toMatchObject([{ release: 1, state: "serving" }]);
  const third = await deploy({ template: "base", env: { A: "3" } });
  const fourth = await deploy({ release: 1 });
  expect((await getDeploy(third)).status).toBe("superseded");
  await untilLive(fourth);
  const [instance] = (await getApp()).instances;
  expect(instance?.release).toBe(4);
  expect(world.host.vms.get(instance?.machine_id ?? "")?.spec.env).toMatchObject({ A: "1" });
  const gone = await world.call("POST", "/v1/apps/shop/deploys", { body: { release: 99 } });
  expect([gone.status, gone.body["code"]]).toEqual([404, "release_not_found"]);
});

test("while a deploy changes the port, instances of each release are reached at their own, and the route stays", async () => {
  await newApp();
  await untilLive(await deploy());
  const [old] = (await getApp()).instances;
  const second = await deploy({ ...WEB, services: [{ group: "web", port: 9090, protocol: "h2" }] });
  await turn();
  const seats = () =>
    world.host.edge.document.backends.map(({ protocol, instances }) => [
      protocol,
      ...instances.map(({ vm, port, state }) => [vm === old?.machine_id ? "old" : "new", port, state]),
    ]);
  expect(seats()).toEqual([["http", ["old", 8080, "serving"]]]);
  world.host.edge.sessions.set(old?.machine_id ?? "", 1);
  for (let turns = 0; turns < 4; turns += 1) {
    await pass();
    await turn();
  }
  expect(seats()).toEqual([
    ["http", ["old", 8080, "draining"]],
    ["h2", ["new", 9090, "serving"]],
  ]);
  expect(world.host.edge.document.routes[0]?.backend).toMatch(/:web:h2$/);
  world.host.edge.sessions.clear();
  await untilLive(second);
});

test("a deploy whose host has no proxy is not live, and leaves what serves alone", async () => {
  await newApp();
  await untilLive(await deploy());
  const [old] = (await getApp()).instances;
  world.host.edge.fault = "HAProxy is not installed on this host";
  const second = await deploy();
  for (let turns = 0; turns < 4; turns += 1) {
    await turn();
    await pass();
  }
  expect((await getDeploy(second)).status).toBe("switching");
  expect(world.host.vms.has(old?.machine_id ?? "")).toBe(true);
  world.host.edge.fault = null;
  await untilLive(second);
  expect(world.host.vms.has(old?.machine_id ?? "")).toBe(false);
});

test("an app is scaled with the release that is live, and one of its instances that ends is replaced", async () => {
  await newApp("shop", { scale: { web: 2 } });
  await untilLive(await deploy());
  expect((await getApp()).instances.map(({ name }) => name)).toEqual(["web.1", "web.2"]);
  await world.call("PATCH", "/v1/apps/shop", { body: { scale: { web: 3 } } });
  for (let turns = 0; turns < 3; turns += 1) {
    await turn();
    await pass();
  }
  await turn();
  expect(world.host.edge.served()["web"]).toHaveLength(3);
  const [first] = (await getApp()).instances;
  world.host.end(first?.machine_id ?? "", "the guest panicked");
  for (let turns = 0; turns < 3; turns += 1) {
    await turn();
    await pass();
  }
  await sql`update apps set start_after = now()`.execute(world.db);
  for (let turns = 0; turns < 3; turns += 1) {
    await turn();
    await pass();
  }
  await turn();
  const served = world.host.edge.served()["web"] ?? [];
  expect([served.length, served.includes(first?.machine_id ?? "")]).toEqual([3, false]);
  await world.call("PATCH", "/v1/apps/shop", { body: { scale: { web: 1 } } });
  for (let turns = 0; turns < 4; turns += 1) await turn();
  expect((await getApp()).instances).toHaveLength(1);
});

test("an app that is deleted ends its instances, and its name is free afterwards", async () => {
  await newApp();
  await untilLive(await deploy());
  expect((await world.call<App>("DELETE", "/v1/apps/shop")).body.status).toBe("deleting");
  const late = await world.call("POST", "/v1/apps/shop/deploys", { body: WEB });
  expect([late.status, late.body["code"]]).toEqual([409, "app_deleting"]);
  for (let turns = 0; turns < 5; turns += 1) await turn();
  expect((await world.call("GET", "/v1/apps/shop")).status).toBe(404);
  expect(world.host.vms.size).toBe(0);
  expect(world.host.edge.document.backends).toEqual([]);
  expect((await newApp()).status).toBe("active");
});

test("a machine of an app that no row names, because its maker died, is ended", async () => {
  const { id } = await newApp();
  await untilLive(await deploy());
  const [instance] = (await getApp()).instances;
  await sql`delete from app_instances where app_id = ${id}`.execute(world.db);
  await turn();
  expect(world.host.vms.has(instance?.machine_id ?? "")).toBe(false);
});

test("its machines are its own: they are changed by the app alone", async () => {
  await newApp();
  await untilLive(await deploy());
  const [instance] = (await getApp()).instances;
  const { status, body } = await world.call("DELETE", `/v1/machines/${instance?.machine_id}`);
  expect([status, body["code"]]).toEqual([409, "owned"]);
});

test("secrets of a release need secrets:read from each who deploys it, and are in no row", async () => {
  await newApp();
  await world.call("PUT", "/v1/secrets/API_KEY", { body: { value: "correct-horse" } });
  await untilLive(await deploy({ ...WEB, secrets: [{ name: "API_KEY", as: "KEY" }] }));
  const [instance] = (await getApp()).instances;
  expect(world.host.vms.get(instance?.machine_id ?? "")?.spec.secrets).toEqual({ KEY: "correct-horse" });
  const scopes = ["apps:read", "apps:write"];
  const { body } = await world.call<{ token: string }>("POST", "/v1/auth/tokens", { body: { scopes } });
  const again = { body: { release: 1 }, token: body.token };
  const refused = await world.call("POST", "/v1/apps/shop/deploys", again);
  expect([refused.status, refused.body["code"]]).toEqual([403, "forbidden"]);
  const { rows } = await sql<{ text: string }>`
    select to_jsonb(releases)::text as text from releases`.execute(world.db);
  expect(JSON.stringify(rows)).not.toContain("correct-horse");
});

test("an instance that is lost with its host fails no deploy, and is replaced", async () => {
  await newApp();
  const one = await deploy();
  await turn();
  const [lost] = (await getApp()).instances;
  await sql`update vms set status = 'failed', host_lost = true, reason = 'host_offline' where id = ${lost?.machine_id}`.execute(
    world.db,
  );
  await untilLive(one);
  const [instance] = (await getApp()).instances;
  expect(instance?.machine_id).not.toBe(lost?.machine_id);
});
