// Templates that deploys build, beside templates that the organization makes itself under the same name.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import type { Deploy } from "@skerry/contract/apps/deploy";
import type { Template } from "@skerry/contract/templates/template";
import { useApps, WEB } from "./support/apps.ts";
import { activateBuilder, buildNow, builtTemplate, forgetBuildsAndVms, newBuild } from "./support/builds.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld({ buildCacheGib: 10 });
const { turn, newApp, deploy, untilLive } = useApps(world);
const { template: _template, ...PROCESSES } = WEB;

afterEach(async () => {
  await forgetBuildsAndVms(world);
  for (const table of ["template_tags", "template_hosts", "template_frozen", "templates"])
    await sql`delete from ${sql.table(table)}`.execute(world.db);
});

const steps = (run: string) => ({ size: "shared-cpu-1x", steps: [{ run }] });

/** One that is live, and the version that it has built. */
async function deployed(run: string): Promise<{ one: Deploy; version: string; build: Build }> {
  const one = await deploy({ ...PROCESSES, build: steps(run) });
  await turn();
  await activateBuilder(world);
  await untilLive(one);
  const build = await buildNow(world, one.build_id ?? "");
  return { one, build, version: build.template_id ?? "" };
}

const find = (reference: string) => world.call<Template>("GET", `/v1/templates/${reference}`);
const untilGone = async (path: string): Promise<void> => {
  for (let tries = 0; (await world.call("GET", path)).status !== 404; tries += 1) {
    expect(tries).toBeLessThan(10);
    await turn();
  }
};

test("a deploy moves no tag of a template that the organization has made, and takes none from it", async () => {
  await newApp();
  const own = await builtTemplate(world, { name: "app-shop", tag: "mine", ...steps("make mine") });
  const { version } = await deployed("make");
  expect(version).not.toBe(own.template_id);
  for (const reference of ["app-shop", "app-shop:mine", "app-shop:latest"])
    expect((await find(reference)).body.id).toBe(own.template_id);
  expect((await find(version)).body).toMatchObject({ name: "app-shop", tags: [] });
  await deployed("make again");
  await world.call("DELETE", "/v1/apps/shop");
  await untilGone("/v1/apps/shop");
  expect((await find(version)).status).toBe(404);
  expect((await find("app-shop")).body.tags.toSorted()).toEqual(["latest", "mine"]);
});

test("a deploy makes no use of a version that the organization has built of the same, nor the other way round", async () => {
  await newApp();
  const own = await builtTemplate(world, { name: "app-shop", ...steps("make") });
  const { version } = await deployed("make");
  expect(version).not.toBe(own.template_id);
  expect((await find(own.template_id ?? "")).body.tags).toEqual(["latest"]);
  const { id } = await newBuild(world, { name: "app-shop", tag: "again", ...steps("make") });
  await activateBuilder(world);
  expect((await buildNow(world, id)).template_id).toBe(own.template_id);
  await world.call("DELETE", "/v1/apps/shop");
  await untilGone("/v1/apps/shop");
  expect((await find("app-shop:again")).body.id).toBe(own.template_id);
});

test("a folder that has not changed is not built again for its app", async () => {
  await newApp();
  const first = await deployed("make the same");
  const second = await deployed("make the same");
  expect(second.version).toBe(first.version);
  expect((await find(first.version)).body.tags).toEqual([]);
});

test("another app of the name has versions of its own", async () => {
  await newApp();
  const first = await deployed("make the same");
  await world.call("DELETE", "/v1/apps/shop");
  await untilGone("/v1/apps/shop");
  await newApp();
  const second = await deployed("make the same");
  expect(second.version).not.toBe(first.version);
  expect((await find(first.version)).status).toBe(404);
});

test("the build of a deploy that is tried again makes no template of the organization's own", async () => {
  await newApp();
  const own = await builtTemplate(world, { name: "app-shop", ...steps("make mine") });
  const { build } = await deployed("make");
  const retried = await world.call<Build>("POST", `/v1/builds/${build.id}/retry`, { body: {} });
  expect(retried.status).toBe(201);
  await activateBuilder(world);
  expect((await find("app-shop")).body.id).toBe(own.template_id);
});

test("a version of an app that the organization has given a tag stays when no release has it any more", async () => {
  await newApp();
  const { version } = await deployed("make");
  const tagged = await world.call("PUT", "/v1/templates/app-shop/tags/keep", { body: { template: version } });
  expect(tagged.status).toBe(200);
  await world.call("DELETE", "/v1/apps/shop");
  await untilGone("/v1/apps/shop");
  expect((await find("app-shop:keep")).body.id).toBe(version);
});
