// Outages and leftovers that users of other platforms report about deploys, each tried here with a fake host.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { App } from "@skerry/contract/apps/app";
import type { AppLogs } from "@skerry/contract/apps/app-logs";
import type { Deploy } from "@skerry/contract/apps/deploy";
import { appDeployer } from "../src/apps/app-deployer.ts";
import { activateBuilder, buildNow, forgetBuildsAndVms, untilBuild } from "./support/builds.ts";
import { Members } from "./support/members.ts";
import { DyingDatabase } from "./support/dying-database.ts";
import { useApps, WEB } from "./support/apps.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, getDeploy, pass, untilLive } = useApps(world);
const { template: _template, ...PROCESSES } = WEB;
const exited = { exit: { exit_code: 3, signal: 0, oom_killed: false } };

afterEach(async () => {
  world.host.beforeStop = async () => undefined;
  await forgetBuildsAndVms(world);
});

const served = () => world.host.edge.served()["web"] ?? [];
const turns = async (count: number): Promise<void> => {
  for (let each = 0; each < count; each += 1) {
    await turn();
    await pass();
  }
};

/**
 * Notes each moment in which the proxy had no instance that runs, and each one that was ended before its
 * requests.
 */
function watchProxy() {
  const faults: string[] = [];
  const look = () => {
    const running = served().filter((id) => world.host.vms.get(id)?.status === "running");
    if (running.length === 0) faults.push("no instance serves");
  };
  world.host.beforeStop = async (id) => {
    if (served().includes(id)) faults.push("an instance was told to end while it was served");
    look();
  };
  world.host.beforeDestroy = async (id) => {
    if (served().includes(id)) faults.push("an instance was destroyed while it was served");
    look();
  };
  return { faults, look };
}

test.each(["rolling", "bluegreen", "canary", "immediate"])(
  "no 502 in a deploy that is %s: an instance leaves the proxy before it is told to end, and the proxy always has one",
  async (strategy) => {
    await newApp("shop", { scale: { web: 3 } });
    await untilLive(await deploy());
    const { faults, look } = watchProxy();
    const next = await deploy({ ...WEB, strategy, ...(strategy === "canary" && { canary: { hold: "1s" } }) });
    for (let tries = 0; (await getDeploy(next)).status !== "live"; tries += 1) {
      expect(tries, JSON.stringify(await getApp())).toBeLessThan(60);
      // A canary is held by the clock of the database.
      await sql`update app_instances set serving_since = serving_since - interval '1 second'`.execute(
        world.db,
      );
      await turn();
      look();
      await pass();
    }
    await turns(3);
    expect(faults).toEqual([]);
    expect((await getApp()).instances.map(({ release, state }) => [release, state])).toEqual(
      Array(3).fill([2, "serving"]),
    );
  },
);

test.each([
  ["a variable", (): Promise<Deploy> => deploy({ release: 1, env_changes: { LEVEL: "debug" } })],
  [
    "a secret",
    async (): Promise<Deploy> => {
      await world.call("PUT", "/v1/apps/shop/secrets/API_KEY", { body: { value: "hush" } });
      return deploy({ release: 1 });
    },
  ],
  ["a rollback", (): Promise<Deploy> => deploy({ release: 1 })],
] as const)(
  "no downtime when the environment alone changes, by %s: it is a deploy like any other",
  async (_what, change) => {
    await newApp();
    await untilLive(await deploy());
    const [before] = served();
    const { faults, look } = watchProxy();
    const one = await change();
    await turns(1);
    // The next one is not well yet.
    world.host.checks.states.clear();
    look();
    expect(served()).toContain(before);
    await untilLive(one);
    expect(faults).toEqual([]);
    expect(served()).not.toContain(before);
  },
);

test("a check that fails never leaves nothing that serves: not in a deploy, and not afterwards", async () => {
  await newApp("shop", { scale: { web: 2 } });
  await untilLive(await deploy());
  const before = served().toSorted();
  const bad = await deploy();
  await turn();
  const fresh = (await getApp()).instances.find(({ release }) => release === 2)?.machine_id ?? "";
  await turn();
  world.host.checks.find(world.host, fresh, { status: "failing", reason: "HTTP 500" });
  await turn();
  expect(await getDeploy(bad)).toMatchObject({
    status: "failed",
    reason: { code: "instance_failed", message: expect.stringContaining("HTTP 500") as string },
  });
  await turns(3);
  expect(served().toSorted()).toEqual(before);
  // All fail: the proxy is told of all of them, and decides by what it sees itself.
  for (const id of before) world.host.checks.find(world.host, id, { status: "failing", reason: "HTTP 503" });
  for (let each = 0; each < 4; each += 1) await turn();
  expect(served().toSorted()).toEqual(before);
});

test("deploys that fail one after the other do not pile up instances, and the log of each is there afterwards", async () => {
  await newApp();
  await untilLive(await deploy());
  const [before] = served();
  for (let count = 1; count <= 5; count += 1) {
    const one = await deploy();
    await turn();
    const fresh = (await getApp()).instances.find(({ state }) => state === "starting")?.machine_id ?? "";
    world.host.console.print(fresh, `failure ${count}\n`);
    world.host.end(fresh, "the main process exited with 3", exited);
    for (let each = 0; each < 3; each += 1) await turn();
    expect((await getDeploy(one)).status).toBe("failed");
    expect(world.host.vms.size).toBeLessThanOrEqual(2);
  }
  expect(served()).toEqual([before]);
  await untilLive(await deploy());
  expect((await getApp()).instances).toHaveLength(1);
  const { lines } = (await world.call<AppLogs>("GET", "/v1/apps/shop/logs")).body;
  expect(lines.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5].map((count) => `failure ${count}`));
});

test("a control plane that dies while it makes an instance leaves no duplicate, however far it has come", async () => {
  await newApp();
  const database = new DyingDatabase();
  const mortal = world.contextWith({ db: database.over(world.db) });
  await untilLive(await deploy());
  for (let statements = 0; statements < 10; statements += 1) {
    const one = await deploy();
    world.host.beforeStart = async () => database.dieAfter(statements);
    await appDeployer(mortal, 10_000)
      .activate(new AbortController().signal)
      .catch(() => undefined);
    world.host.beforeStart = async () => undefined;
    database.live();
    // Time passes until what it had claimed is anyone's.
    await sql`update machines set claimed_until = now() - interval '1 ms'`.execute(world.db);
    await untilLive(one);
    await turns(3);
    expect((await getApp()).instances).toMatchObject([{ release: one.release, state: "serving" }]);
    expect([...world.host.vms.keys()]).toEqual(served());
  }
});

const hanging = { build: { size: "shared-cpu-1x", steps: [{ run: "forever" }], timeout: "1s" } };

test("a build that hangs is ended when its time is over, and its deploy says so", async () => {
  await newApp();
  const one = await deploy({ ...PROCESSES, ...hanging });
  await turn();
  await activateBuilder(world);
  await turn();
  expect(await getDeploy(one)).toMatchObject({ status: "failed", reason: { code: "build_timed_out" } });
  expect(world.host.vms.size).toBe(0);
});

test("a build that hangs does not run on when its deploy is canceled, and holds up no next one", async () => {
  await newApp();
  const one = await deploy({ ...PROCESSES, build: { ...hanging.build, timeout: "1h" } });
  await turn();
  const active = activateBuilder(world);
  await untilBuild(world, one.build_id ?? "", "building");
  const queued = await deploy();
  await turn();
  await active;
  expect((await buildNow(world, one.build_id ?? "")).status).toBe("canceled");
  await untilLive(queued);
  expect([...world.host.vms.keys()]).toEqual(served());
});

test("a build that runs out of memory fails its deploy alone, and says that it was memory", async () => {
  await newApp();
  await untilLive(await deploy());
  const one = await deploy({ ...PROCESSES, build: { size: "shared-cpu-1x", steps: [{ run: "oom" }] } });
  await turn();
  await activateBuilder(world);
  await turn();
  expect(await getDeploy(one)).toMatchObject({ status: "failed", reason: { code: "build_out_of_memory" } });
  expect(served()).toHaveLength(1);
});

test("a name that another organization has taken gives neither its address nor its requests", async () => {
  await newApp();
  await untilLive(await deploy());
  const mine = served();
  const members = new Members(world);
  const { secret: token } = await members.newMember("owner", (await members.newOrganization()).path);
  const theirs = await world.call<App>("POST", "/v1/apps", { body: { name: "shop" }, token });
  expect([theirs.status, theirs.body.host]).toEqual([201, null]);
  const one = await world.call<Deploy>("POST", "/v1/apps/shop/deploys", { body: WEB, token });
  const now = async () =>
    (await world.call<Deploy>("GET", `/v1/apps/shop/deploys/${one.body.id}`, { token })).body.status;
  for (let tries = 0; (await now()) !== "live"; tries += 1) {
    expect(tries).toBeLessThan(20);
    await turns(1);
  }
  const led = () => world.host.edge.document.routes.map(({ host, backend }) => [host, backend.split(":")[0]]);
  expect(led()).toEqual([["shop.localhost", (await getApp()).id]]);
  const route = await world.call("POST", "/v1/apps/shop/routes", {
    body: { host: "shop.localhost", group: "web" },
    token,
  });
  expect(route.status).toBeGreaterThanOrEqual(400);
  // After its first owner has deleted it, the address is not given unasked to an app that was there before.
  await world.call("DELETE", "/v1/apps/shop");
  await turns(4);
  expect(led()).toEqual([]);
  expect(mine.filter((id) => world.host.vms.has(id))).toEqual([]);
});
