// Documents that hosts get of apps: routes and their backends, and hosts that are slow to answer.

import { sql } from "kysely";
import { expect, test } from "vitest";
import type { Route } from "@skerry/contract/apps/route";
import { appDeployer } from "../src/apps/app-deployer.ts";
import { heartbeat } from "../src/hosts/heartbeat.ts";
import { FakeHost } from "./support/fake-host.ts";
import { never } from "./support/two-hosts.ts";
import { useApps, WEB } from "./support/apps.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, getDeploy, pass, untilLive } = useApps(world);
const ROUTES = "/v1/apps/shop/routes";
const route = async (body: object) => {
  const answer = await world.call<Route>("POST", ROUTES, { body });
  expect(`${answer.status} ${answer.text}`).toMatch(/^201/);
  return answer.body;
};
/** Keys of the proxy's map, with the groups that they lead to, and more. */
const led = () =>
  world.host.edge.document.routes.map(({ host, path_prefix, backend, app: _app, id: _id, ...more }) => [
    `${host}${path_prefix} ${backend.split(":").slice(1).join(":")}`,
    more,
  ]);

test("routes lead to groups in their manners, and go when they are deleted", async () => {
  await newApp();
  const api = { group: "api", port: 9000, check: { path: "/", port: 9000 } };
  await untilLive(
    await deploy({
      ...{ template: "base", services: [...WEB.services, api] },
      processes: { web: { command: "serve" }, api: { command: "answer" } },
    }),
  );
  expect(led()).toEqual([["shop.localhost/ web:http", {}]]);
  const one = await route({ path_prefix: "/api", group: "api", strip_prefix: true, rate_limit: 5 });
  expect(one).toMatchObject({
    host: "shop.localhost",
    path_prefix: "/api/",
    sticky: false,
    concurrency: null,
  });
  await route({ host: "API.shop.localhost", group: "api", sticky: true, concurrency: 3 });
  await route({ path_prefix: "/later/", group: "later" });
  await turn();
  expect(led()).toEqual([
    ["shop.localhost/ web:http", {}],
    ["shop.localhost/api/ api:http", { strip_prefix: true, rate_limit: 5 }],
    ["api.shop.localhost/ api:http:sticky:3", {}],
  ]);
  const sticky = world.host.edge.document.backends.find((each) => each.sticky);
  expect(sticky).toMatchObject({ concurrency: 3, instances: [{ state: "serving", port: 9000 }] });
  expect((await world.call<{ items: Route[] }>("GET", ROUTES)).body.items).toHaveLength(3);
  const own = await route({ group: "api" });
  expect((await world.call("DELETE", `${ROUTES}/${one.id}`)).status).toBe(204);
  expect((await world.call("DELETE", `${ROUTES}/${one.id}`)).body["code"]).toBe("route_not_found");
  await turn();
  expect(led().map(([key]) => key)).toEqual([
    "shop.localhost/ api:http",
    "api.shop.localhost/ api:http:sticky:3",
  ]);
  await world.call("DELETE", `${ROUTES}/${own.id}`);
  await turn();
  expect(led()[0]).toEqual(["shop.localhost/ web:http", {}]);
});

test.each([
  [{ group: "web", host: "other.localhost" }, "bad_request"],
  [{ group: "web", host: "evilshop.localhost" }, "bad_request"],
  [{ group: "web", host: "shop.localhost.evil.net" }, "bad_request"],
  [{ group: "web", host: "a_b.shop.localhost" }, "bad_request"],
  [{ group: "web", host: ".shop.localhost" }, "bad_request"],
  [{ group: "web", path_prefix: "/a/../b" }, "bad_request"],
  [{ group: "web", path_prefix: "/a/b/c/d/e" }, "bad_request"],
  [{ group: "web", path_prefix: "api" }, "bad_request"],
  [{ group: "web", path_prefix: "/a%2fb" }, "bad_request"],
  [{ group: "web", path_prefix: "/taken/" }, "route_taken"],
  [{ path_prefix: "/x" }, "bad_request"],
])("a route that cannot be is refused: %j", async (body, code) => {
  await newApp();
  await route({ group: "web", path_prefix: "/taken" });
  const answer = await world.call("POST", ROUTES, { body });
  expect(answer.body["code"]).toBe(code);
});

test("an app whose host is slow, and a proxy that does not answer, hold up no other app", async () => {
  for (const name of ["slow", "quick"]) await newApp(name);
  const held = Promise.withResolvers<undefined>();
  const slow = await deploy(WEB, "slow");
  world.host.beforeStart = async (id) => {
    const machine = await world.call<{ name: string }>("GET", `/v1/machines/${id}`);
    if (machine.body.name.startsWith("slow/")) await held.promise;
  };
  const turning = appDeployer(world.context, 10_000).activate(new AbortController().signal);
  const quick = await deploy(WEB, "quick");
  await eventually(async () => {
    await pass();
    return (await getDeploy(quick)).status === "live";
  }, "the quick app is live");
  expect((await getDeploy(slow)).status).toBe("starting");
  world.host.beforeStart = async () => undefined;
  held.resolve(undefined);
  await turning;
  expect((await getApp("slow")).instances).toMatchObject([{ name: "web.1" }]);
  expect((await getApp("quick")).instances).toMatchObject([{ name: "web.1", state: "serving" }]);
});

test("an app in maintenance keeps its instances, and its routes say so", async () => {
  await newApp();
  await untilLive(await deploy());
  const change = (maintenance: boolean) => world.call("PATCH", "/v1/apps/shop", { body: { maintenance } });
  expect((await change(true)).body).toMatchObject({ maintenance: true, scale: {} });
  await turn();
  expect(led()).toEqual([["shop.localhost/ web:http", { maintenance: true }]]);
  expect((await getApp()).instances).toHaveLength(1);
  await change(false);
  await turn();
  expect(led()).toEqual([["shop.localhost/ web:http", {}]]);
});

test("hosts of a cluster are told of each other's instances, and where to pass requests on", async () => {
  await using second = new FakeHost();
  await second.start();
  Object.assign(second, { name: "second", edgeDoor: "192.0.2.2:7072", memoryMib: 1_000_000, cpus: 64 });
  world.host.edgeDoor = "192.0.2.1:7072";
  const ask = (one: FakeHost) =>
    heartbeat(world.context, { hostSocket: one.socketPath, everyMs: 1_000, graceMs: 0 }).activate(never);
  const onlyOn = (one: FakeHost) =>
    sql`update hosts set desired = case when name = ${one.name} then 'active' else 'drained' end`.execute(
      world.db,
    );
  const web = (one: FakeHost) =>
    one.edge.document.backends.map(({ instances, elsewhere }) => [
      instances.map(({ state }) => state),
      Object.values(elsewhere ?? {}),
    ]);
  await ask(world.host);
  await ask(second);
  await onlyOn(world.host);
  await newApp();
  await untilLive(await deploy());
  expect([web(world.host), web(second)]).toEqual([[[["serving"], []]], [[[], [1]]]]);
  expect(Object.values(second.edge.document.peers ?? {})).toEqual(["192.0.2.1:7072"]);
  expect(second.edge.document.routes).toEqual(world.host.edge.document.routes);
  await onlyOn(second);
  await untilLive(await deploy({ ...WEB, processes: { web: { command: "serve more" } } }), second);
  await eventually(async () => {
    await turn();
    return (
      JSON.stringify([web(world.host), web(second)]) === JSON.stringify([[[[], [1]]], [[["serving"], []]]])
    );
  }, "the first host has none");
  // The next one goes where there is none of the group, however much else is there.
  await sql`update hosts set desired = 'active'`.execute(world.db);
  await ask(world.host);
  await ask(second);
  await world.context.hostCapacity.refreshNow();
  for (const count of [2, 6, 7]) {
    await world.call("PATCH", "/v1/apps/shop", { body: { scale: { web: count } } });
    await turn();
    const { instances } = await getApp();
    expect(instances).toHaveLength(count);
    const here = instances.filter(({ machine_id: id }) => world.host.vms.has(id)).length;
    expect([Math.floor(count / 2), Math.ceil(count / 2)]).toContain(here);
  }
  await world.call("PATCH", "/v1/apps/shop", { body: { scale: { web: 1 } } });
  await eventually(async () => {
    await turn();
    return (await getApp()).instances.length === 1;
  }, "one is left");
  await onlyOn(second);
  // A host without a door of its own passes nothing on.
  world.host.edgeDoor = undefined;
  await ask(world.host);
  await turn();
  expect([web(world.host), web(second)]).toEqual([[], [[["serving"], []]]]);
  await sql`delete from apps`.execute(world.db);
  await sql`update hosts set removed_at = now() where name = 'second'`.execute(world.db);
  await sql`update hosts set desired = 'active'`.execute(world.db);
});
