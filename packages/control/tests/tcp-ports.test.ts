// Ports of hosts for services that are plain TCP.

import { sql } from "kysely";
import { expect, test } from "vitest";
import { ORGANIZATION_TCP_PORTS_MAX } from "@skerry/contract/apps/app-bounds";
import { readConfig } from "../src/app/config.ts";
import { useApps, WEB } from "./support/apps.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, untilLive } = useApps(world);

const DB = {
  template: "base",
  processes: { web: { command: "serve" }, db: { command: "postgres" } },
  services: [
    { group: "db", port: 5432, protocol: "tcp" },
    { group: "web", port: 8080, check: { path: "/health", port: 8080 } },
  ],
};
const withPorts = (first: number, last: number) =>
  Object.assign(world.context.apps, { tcpPorts: { first, last } });
const refused = async (body: object, name = "shop") =>
  (await world.call("POST", `/v1/apps/${name}/deploys`, { body })).body;

test("a service of TCP has a port of its own for as long as its app is there", async () => {
  withPorts(7100, 7101);
  await newApp();
  await untilLive(await deploy(DB));
  const app = await getApp();
  expect(app.ports).toEqual([{ group: "db", port: 7100 }]);
  const { tcp, routes, backends } = world.host.edge.document;
  const id = `${app.id}:db:tcp`;
  expect(tcp).toEqual({ first: 7100, last: 7101, ports: [{ port: 7100, backend: id }] });
  // The address of the app is that of the group that speaks HTTP.
  expect(routes.map(({ backend }) => backend)).toEqual([`${app.id}:web:http`]);
  expect(backends.find((one) => one.id === id)?.protocol).toBe("tcp");
  const checks = [...world.host.checks.told.values()].map(({ check }) => check?.tcp ?? check?.http);
  expect(checks).toEqual(expect.arrayContaining([{ port: 5432 }]));
  // A route to the group leads nowhere, and the port stays through deploys that leave the group out.
  await world.call("POST", "/v1/apps/shop/routes", { body: { path_prefix: "/db", group: "db" } });
  await untilLive(await deploy(WEB));
  expect(world.host.edge.document.tcp?.ports).toEqual([]);
  await untilLive(await deploy(DB));
  expect((await getApp()).ports).toEqual([{ group: "db", port: 7100 }]);
  expect(world.host.edge.document.routes).toHaveLength(1);
  await newApp("other");
  await deploy(DB, "other");
  expect((await getApp("other")).ports).toEqual([{ group: "db", port: 7101 }]);
  await newApp("third");
  expect(await refused(DB, "third")).toMatchObject({ code: "no_capacity" });
  expect((await getApp("third")).deploy).toBeNull();
  // Ports that hosts do not listen on any more are given up with the next deploy.
  withPorts(7200, 7201);
  await untilLive(await deploy(DB));
  expect((await getApp()).ports).toEqual([{ group: "db", port: 7200 }]);
  await world.call("DELETE", "/v1/apps/shop");
  for (let step = 0; step < 6; step += 1) await turn();
  const { rows } = await sql<{ port: number }>`select port from tcp_ports`.execute(world.db);
  expect(rows.map(({ port }) => port)).toEqual([7101]);
});

test("without the setting it is refused, and one organization cannot take all ports", async () => {
  Object.assign(world.context.apps, { tcpPorts: undefined });
  await newApp();
  const remediation = expect.stringContaining("SKERRY_APPS_TCP_PORTS") as string;
  expect(await refused(DB)).toMatchObject({ code: "invalid_manifest", remediation });
  withPorts(7100, 7199);
  await sql`insert into tcp_ports (port, app_id, group_name)
    select port, (select id from apps limit 1), 'group-' || port from generate_series(7100, ${7099 + ORGANIZATION_TCP_PORTS_MAX}::int) as port`.execute(
    world.db,
  );
  expect(await refused(DB)).toMatchObject({ code: "quota_exceeded", context: { quota: "tcp_ports" } });
});

test.each(["7100", "7199-7100", "0-10", "7100-70000", "7000-9000", "a-b"])("%s is no range", (value) => {
  expect(() =>
    readConfig({ SKERRY_DATABASE_URL: "postgresql:///skerry", SKERRY_APPS_TCP_PORTS: value }),
  ).toThrow("SKERRY_APPS_TCP_PORTS");
});
