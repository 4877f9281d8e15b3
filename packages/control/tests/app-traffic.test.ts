// Requests of apps as hosts have counted them, and a release that goes back for its errors.

import { sql } from "kysely";
import { expect, test } from "vitest";
import type { AppFailures } from "@skerry/contract/apps/app-failures";
import type { AppMetrics } from "@skerry/contract/apps/app-metrics";
import type { Route } from "@skerry/contract/apps/route";
import type { EdgeTraffic } from "@skerry/contract/host-api/edge";
import { collectionOf } from "../src/apps/traffic/app-traffic.ts";
import { useApps, WEB } from "./support/apps.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, getDeploy, untilLive } = useApps(world);

type Counted = EdgeTraffic["instances"][number];
/** The host has counted so much for the instance that serves, and control asks it. */
async function count(counts: Partial<Counted>): Promise<void> {
  const serving = (await getApp()).instances.find(({ state }) => state === "serving");
  const { execution_id = "" } = world.host.vms.get(serving?.machine_id ?? "") ?? {};
  const none = { requests: 0, client_errors: 0, server_errors: 0, received_bytes: 0, sent_bytes: 0 };
  world.host.edge.traffic = [{ vm: serving?.machine_id ?? "", execution_id, ...none, ...counts }];
  collectionOf(world.context).atMs = -Infinity;
  await turn();
}
const metrics = async (query = "") =>
  (await world.call<AppMetrics>("GET", `/v1/apps/shop/metrics${query}`)).body.items;

test("requests are summed up by steps, groups and releases, from the first answer of a host on", async () => {
  await newApp();
  await untilLive(await deploy());
  // Counted by another control plane, perhaps.
  await count({ requests: 100, server_errors: 3 });
  expect(await metrics()).toEqual([]);
  await count({ requests: 130, client_errors: 2, server_errors: 4, received_bytes: 900, sent_bytes: 5_000 });
  await count({ requests: 131, client_errors: 2, server_errors: 4, received_bytes: 920, sent_bytes: 5_100 });
  const [first] = await metrics("?step=24h");
  expect(first).toMatchObject({
    ...{ group: "web", release: 1, requests: 31, client_errors: 2, server_errors: 1 },
    ...{ received_bytes: 920, sent_bytes: 5_100 },
  });
  // Its process is another one, whose counters begin anew.
  await count({ requests: 4 });
  expect((await metrics("?step=24h"))[0]?.requests).toBe(35);
  await sql`update app_traffic set counted_at = counted_at - interval '25 hours'`.execute(world.db);
  await count({ requests: 5 });
  expect((await metrics()).map(({ requests }) => requests)).toEqual([1]);
  const refused = await world.call("GET", "/v1/apps/shop/metrics?step=1s");
  expect(refused.body["code"]).toBe("invalid_duration");
});

test("a release whose requests fail twice as often as those before goes back while it is watched", async () => {
  await newApp();
  await untilLive(await deploy());
  await count({});
  await count({ requests: 1_000, server_errors: 20 });
  const second = await deploy({ ...WEB, processes: { web: { command: "serve badly" } }, watch: "1m" });
  await untilLive(second);
  await count({ requests: 1_000, server_errors: 30 });
  expect((await getDeploy(second)).status).toBe("live");
  await count({ requests: 1_200, server_errors: 60 });
  await turn();
  expect(await getDeploy(second)).toMatchObject({
    status: "rolled_back",
    reason: { code: "errors_doubled", message: expect.stringMatching(/^5\.0 %[^]* 2\.0 % before/) as string },
  });
  expect((await getApp()).deploy).toMatchObject({ release: 3, created_by: null });
});

test("few errors, and many of a release that is watched no more, change nothing", async () => {
  await newApp();
  await untilLive(await deploy());
  await count({});
  await count({ requests: 100 });
  const second = await deploy({ ...WEB, watch: "1m" });
  await untilLive(second);
  await count({});
  await count({ requests: 20, server_errors: 9 });
  expect((await getDeploy(second)).status).toBe("live");
  await sql`update deploys set watched_until = now() - interval '1 s'`.execute(world.db);
  await count({ requests: 200, server_errors: 200 });
  await turn();
  expect((await getDeploy(second)).status).toBe("live");
});

test("counts that cannot be written hold nothing up, and the next ones are", async () => {
  await newApp();
  await untilLive(await deploy());
  await count({});
  // More than the column holds.
  await count({ requests: 1e19 });
  expect(await metrics()).toEqual([]);
  await count({ requests: 7 });
  expect((await metrics()).map(({ requests }) => requests)).toEqual([7]);
});

test("answers are summed up by routes, with bounds of the times that they took", async () => {
  const { id } = await newApp();
  await untilLive(await deploy());
  const api = (
    await world.call<Route>("POST", "/v1/apps/shop/routes", { body: { path_prefix: "/api", group: "web" } })
  ).body;
  await turn();
  expect(world.host.edge.document.routes.map((one) => [one.app, one.id])).toEqual([
    [id, id],
    [id, api.id],
  ]);
  const answers = async (own: readonly number[], ofApi: readonly number[]) => {
    const errors = { client_errors: 2 * own.length, server_errors: 0 };
    world.host.edge.answers = [
      { route: id, times: [...own], ...errors },
      { route: api.id, times: [...ofApi], client_errors: 0, server_errors: 3 },
      { route: "rte_gone", times: [...own], ...errors },
    ];
    await count({});
  };
  await answers([0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0]);
  await answers([60, 38, 1, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 0, 4]);
  await answers([70, 38, 1, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0, 0, 0, 4]);
  const { routes } = (await world.call<AppMetrics>("GET", "/v1/apps/shop/metrics?step=24h")).body;
  expect(routes).toMatchObject([
    {
      route_id: null,
      answers: 110,
      times: [70, 38, 1, 0, 0, 0, 0, 0, 1],
      p50_ms: 10,
      p95_ms: 50,
      p99_ms: 100,
    },
    { route_id: api.id, answers: 5, p50_ms: null, p99_ms: null },
  ]);
  const { text } = await world.call("GET", "/metrics");
  expect(text).toContain('skerry_app_answers_total{le="0.01"} 71');
  expect(text).toContain('skerry_app_answers_total{le="+Inf"} 115');
});

test("requests that failed are told by all hosts, with words for whose fault it was", async () => {
  await newApp();
  await untilLive(await deploy());
  const serving = (await getApp()).instances.find(({ state }) => state === "serving")?.machine_id ?? "";
  const failure = {
    ...{ at: "2026-11-20T16:41:09.900Z", vm: serving, status: 502, end: "SH", ms: 12 },
    ...{ method: "GET", path: "/cart", request_id: "0d9f3a52" },
  };
  world.host.edge.failures = [
    { ...failure, at: "2026-11-20T16:41:10.000Z", vm: null, end: "SC", status: 503 },
    failure,
    { ...failure, at: "2026-11-20T16:40:00.000Z", vm: "mch_gone", end: "Xx" },
  ];
  const failures = async (query = "") =>
    (await world.call<AppFailures>("GET", `/v1/apps/shop/failures${query}`)).body;
  expect(await failures()).toMatchObject({
    unavailable: [],
    items: [
      { instance: null, machine_id: "mch_gone", why: "the proxy ended it (Xx)" },
      { instance: "web.1", why: "the app broke off, or did not answer in HTTP", path: "/cart", ms: 12 },
      { instance: null, machine_id: null, why: "no instance takes requests" },
    ],
  });
  expect((await failures("?since=2026-11-20T16:41:10Z")).items).toHaveLength(1);
  await world.host.stop();
  expect((await failures()).unavailable).toHaveLength(1);
  await world.host.start();
});
