// How many apps an organization may have, and what its other quotas mean for them.

import { beforeEach, expect, test } from "vitest";
import type { Limits, OrganizationLimitsReport } from "@skerry/contract/limits/limits-report";
import type { Status } from "@skerry/contract/platform/status";
import { useApps, WEB } from "./support/apps.ts";
import { openReplica } from "./support/replica.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, getDeploy, untilLive } = useApps(world);

const allow = (body: object) =>
  world.call<OrganizationLimitsReport>("PATCH", `/v1/orgs/${world.orgId}/limits`, { body });
const create = (name: string, { token = world.token, url = world.url } = {}) =>
  world.call("POST", "/v1/apps", { body: { name }, token, url });
const quotaOfApps = async () => (await world.call<Limits>("GET", "/v1/limits")).body.quotas.apps;

beforeEach(async () => {
  await allow({ quota_apps: null, quota_machines: null });
});

test("the operator says how many apps an organization may have, and it sees how many it has", async () => {
  const { limit } = await quotaOfApps();
  expect((await allow({ quota_apps: 2 })).body).toMatchObject({ exceptions: { quota_apps: 2 } });
  expect((await create("one")).status).toBe(201);
  expect((await create("two")).status).toBe(201);
  expect(await quotaOfApps()).toEqual({ used: 2, limit: 2 });
  expect((await world.call<Status>("GET", "/v1/status")).body.apps).toBe(2);
  const refused = await create("three");
  expect([refused.status, refused.body]).toMatchObject([
    403,
    {
      code: "quota_exceeded",
      message: expect.stringContaining("2 of 2 apps"),
      remediation: expect.stringContaining("skerry app list"),
      context: { quota: "apps", used: 2, requested: 1, limit: 2 },
    },
  ]);
  expect((await create("three", { token: await world.strangerToken() })).status).toBe(201);
  await allow({ quota_apps: null });
  expect(await quotaOfApps()).toEqual({ used: 2, limit });
  expect((await create("three")).status).toBe(201);
});

test("an app that is being deleted counts until it is gone", async () => {
  await allow({ quota_apps: 1 });
  await create("one");
  expect((await world.call("DELETE", "/v1/apps/one")).status).toBe(200);
  expect((await create("two")).status).toBe(403);
  await turn();
  expect((await create("two")).status).toBe(201);
});

test("requests at once over two replicas make as many apps as the quota has left", async () => {
  await using other = await openReplica(world);
  await allow({ quota_apps: 3 });
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => create(`app-${n}`, { url: n % 2 === 0 ? world.url : other.url })),
  );
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    ...[201, 201, 201],
    ...Array.from({ length: 9 }, () => 403),
  ]);
});

test("an organization cannot change its own quota", async () => {
  const token = await world.strangerToken();
  const refused = await world.call("PATCH", `/v1/orgs/${world.orgId}/limits`, {
    token,
    body: { quota_apps: 1_000 },
  });
  expect(refused.status).toBe(403);
});

test("a deploy that meets the quota of machines fails and says so, and the release before serves on", async () => {
  await newApp();
  await untilLive(await deploy());
  const before = await getApp();
  await allow({ quota_machines: 1 });
  const refused = await deploy({ ...WEB, env: { A: "1" } });
  for (let tries = 0; (await getDeploy(refused)).finished_at === null; tries += 1) {
    expect(tries).toBeLessThan(10);
    await turn();
  }
  expect((await getDeploy(refused)).reason).toMatchObject({
    code: "quota_exceeded",
    message: expect.stringMatching(/could not be started: The organization has 1 of 1 machines/),
  });
  await turn();
  const { release, instances } = await getApp();
  expect({ release, instances }).toEqual({ release: 1, instances: before.instances });
});
