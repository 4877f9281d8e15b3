// Ends of deploys that are under way: a deploy can be canceled, superseded, and deleted with its app in each
// status, and leaves nothing that nobody wants any more.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Deploy } from "@skerry/contract/apps/deploy";
import { useApps } from "./support/apps.ts";
import { forgetBuildsAndVms } from "./support/builds.ts";
import { underWay, useDeploysUnderWay } from "./support/deploys-under-way.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const apps = useApps(world);
const { turn, newApp, getApp, deploy, getDeploy } = apps;
const { reach, settle } = useDeploysUnderWay(world, apps);

afterEach(async () => {
  world.host.edge.fault = null;
  await forgetBuildsAndVms(world);
});

/** Builds that go on. */
const building = async () => {
  const { rows } = await sql`select id from builds where finished_at is null`.execute(world.db);
  return rows;
};
/** All microVMs that are there, which are the instances of these releases, and serve. */
const expectOnly = async (...releases: readonly number[]): Promise<void> => {
  const { instances } = await getApp();
  expect(instances.map(({ release, state }) => [release, state])).toEqual(
    releases.map((release) => [release, "serving"]),
  );
  const ids = instances.map(({ machine_id: id }) => id).toSorted();
  expect([...world.host.vms.keys()].toSorted()).toEqual(ids);
  expect(world.host.edge.served()["web"]?.toSorted() ?? []).toEqual(ids);
  expect(await building()).toEqual([]);
};
const cancel = ({ id }: Deploy) =>
  world.call<Deploy>("POST", `/v1/apps/shop/deploys/${id}/cancel`, { body: {} });

test.each(underWay)(
  "a deploy that hangs can be canceled while it is %s, and the release before serves all the way",
  async (status) => {
    const { deploy: one, before } = await reach(status);
    expect((await cancel(one)).body).toMatchObject({ status: "canceled" });
    expect(world.host.vms.get(before)?.status).toBe("running");
    await settle();
    expect(await getDeploy(one)).toMatchObject({
      status: "canceled",
      finished_at: expect.any(String) as string,
    });
    await expectOnly(1);
    expect(await getApp()).toMatchObject({ release: 1 });
  },
);

test.each(underWay)(
  "a deploy that is %s does not block the next one, which takes its place at once, and leaves no duplicates",
  async (status) => {
    const { deploy: one } = await reach(status);
    const next = await deploy();
    expect((await getDeploy(one)).status).toBe("superseded");
    await settle();
    expect((await getDeploy(next)).status).toBe("live");
    await expectOnly(3);
  },
);

test.each(underWay)(
  "an app can be deleted while a deploy of it is %s, and nothing is left of it",
  async (status) => {
    await reach(status);
    expect((await world.call("DELETE", "/v1/apps/shop")).status).toBe(200);
    await settle();
    expect((await world.call("GET", "/v1/apps/shop")).status).toBe(404);
    expect([...world.host.vms.keys()]).toEqual([]);
    expect(world.host.edge.document.backends).toEqual([]);
    expect(await building()).toEqual([]);
    expect((await newApp()).status).toBe("active");
  },
);

test.each(underWay)(
  "a deploy that is %s has failed when its time is over, and its instances are ended",
  async (status) => {
    const { deploy: one } = await reach(status);
    // A build has a time of its own, and that of its deploy begins when it has ended.
    if (status === "building") await sql`update builds set ends_by = now()`.execute(world.db);
    else await sql`update deploys set ends_by = now()`.execute(world.db);
    for (let turns = 0; turns < 2; turns += 1) await turn();
    await settle();
    const { status: end, reason } = await getDeploy(one);
    expect([end, reason?.code]).toEqual([
      "failed",
      status === "building" ? "build_timed_out" : "deploy_timed_out",
    ]);
    await expectOnly(1);
  },
);

test("of many deploys that are asked for at once one is carried out, and each other one is superseded", async () => {
  await reach("checking");
  const all = await Promise.all(Array.from({ length: 6 }, () => deploy()));
  await settle();
  const ends = await Promise.all(
    all.map(async (one) => [one.release, (await getDeploy(one)).status] as const),
  );
  const last = Math.max(...all.map(({ release }) => release ?? 0));
  expect(new Set(all.map(({ release }) => release)).size).toBe(6);
  for (const [release, status] of ends) expect(status).toBe(release === last ? "live" : "superseded");
  await expectOnly(last);
});

test("a cancel and a deploy at once leave one deploy with one end each", async () => {
  const { deploy: one } = await reach("starting");
  const [answer, next] = await Promise.all([cancel(one), deploy()]);
  expect([200, 409]).toContain(answer.status);
  expect(["canceled", "superseded"]).toContain((await getDeploy(one)).status);
  await settle();
  expect((await getDeploy(next)).status).toBe("live");
  await expectOnly(3);
});
