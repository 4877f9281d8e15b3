// Logs of apps, with a fake host's consoles.

import { expect, test } from "vitest";
import type { AppLogs } from "@skerry/contract/apps/app-logs";
import type { Deploy } from "@skerry/contract/apps/deploy";
import { useApps } from "./support/apps.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, untilLive } = useApps(world);
const logs = async (query = "", name = "shop"): Promise<AppLogs> =>
  (await world.call<AppLogs>("GET", `/v1/apps/${name}/logs${query}`)).body;
const texts = async (query = ""): Promise<string[]> =>
  (await logs(query)).lines.map(({ instance, release, line }) => `${instance} ${release} ${line}`);

/** The first instance of an app whose first deploy is live, and one of a second deploy. */
async function twoReleases(): Promise<readonly [string, string]> {
  await newApp();
  await untilLive(await deploy());
  const [old = ""] = await machines();
  world.host.console.print(old, "one\n[    0.000000] a kernel\ntwo\n");
  await untilLive(await deploy());
  const [fresh = ""] = await machines();
  world.host.console.print(fresh, "three\n");
  return [old, fresh];
}
const machines = async () => (await getApp()).instances.map(({ machine_id }) => machine_id);

test("the log of an app has lines of instances that are gone before those of instances that run", async () => {
  const [old, fresh] = await twoReleases();
  expect(world.host.vms.has(old)).toBe(false);
  expect(await texts()).toEqual(["web.1 1 one", "web.1 1 two", "web.2 2 three"]);
  const { lines } = await logs("?release=1");
  expect(lines.map(({ line, machine_id }) => [line, machine_id])).toEqual([
    ["one", old],
    ["two", old],
  ]);
  expect(await texts("?lines=1&release=1")).toHaveLength(1);
  expect((await logs("?grep=wo")).lines.map(({ line }) => line)).toEqual(["two"]);
  expect((await logs(`?instance=${fresh}`)).lines.map(({ line }) => line)).toEqual(["three"]);
  expect(await texts("?group=worker")).toEqual([]);
  // An instance that ended before that time is not asked for.
  expect((await logs(`?since=${new Date(Date.now() + 60_000).toISOString()}`)).lines).toEqual([]);
});

test("lines are chosen by the deploy of their release and by their level", async () => {
  const [, fresh] = await twoReleases();
  world.host.console.print(fresh, "DEBUG four\n[warn] five\n" + '{"level":50,"msg":"six"}\n');
  const { body } = await world.call<{ items: Deploy[] }>("GET", "/v1/apps/shop/deploys");
  const [second, first] = body.items.map(({ id }) => id);
  expect(await texts(`?deploy=${first}`)).toEqual(["web.1 1 one", "web.1 1 two"]);
  expect(await texts(`?deploy=${first}&release=2`)).toEqual([]);
  const levels = (await logs(`?deploy=${second}`)).lines.map(({ level }) => level);
  expect(levels).toEqual([null, "debug", "warn", "error"]);
  const atLeast = async (level: string) =>
    (await logs(`?level=${level}`)).lines.map(({ line }) => /[a-z]{3,5}(?=\W*$)/.exec(line)?.[0]);
  expect(await atLeast("debug")).toEqual(["one", "two", "three", "four", "five", "six"]);
  expect(await atLeast("info")).toEqual(["one", "two", "three", "five", "six"]);
  expect(await atLeast("warn")).toEqual(["five", "six"]);
  expect(await atLeast("error")).toEqual(["six"]);
  const refused = async (query: string) => {
    const answer = await world.call("GET", `/v1/apps/shop/logs?${query}`);
    return [answer.status, answer.body["code"]];
  };
  expect(await refused(`deploy=${second?.slice(0, -1)}x`)).toEqual([404, "deploy_not_found"]);
  expect(await refused("deploy=x")).toEqual([404, "deploy_not_found"]);
  expect(await refused("level=loud")).toEqual([400, "bad_request"]);
  // The deploy of another app is unknown here.
  await newApp("other");
  const { id } = await deploy(undefined, "other");
  expect(await refused(`deploy=${id}`)).toEqual([404, "deploy_not_found"]);
});

test("a host that cannot be asked is told, and the others' lines are there", async () => {
  await twoReleases();
  world.host.console.isAway = true;
  const log = await logs();
  world.host.console.isAway = false;
  expect([log.lines.map(({ line }) => line), log.unavailable]).toEqual([["one", "two"], ["web.2"]]);
});

test("an instance whose host cannot keep its log is ended all the same", async () => {
  await newApp();
  await untilLive(await deploy());
  world.host.console.keepsNone = true;
  await world.call("PATCH", "/v1/apps/shop", { body: { scale: { web: 0 } } });
  for (let turns = 0; turns < 4; turns += 1) await turn();
  world.host.console.keepsNone = false;
  expect([await machines(), world.host.vms.size]).toEqual([[], 0]);
  expect((await logs()).lines).toEqual([]);
});

test("another organization's app has no log", async () => {
  const { id } = await newApp();
  const other = await world.call("GET", `/v1/apps/${id.slice(0, -1)}x/logs`);
  expect(other.status).toBe(404);
});
