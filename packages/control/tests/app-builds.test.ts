// Deploys that build their template and run a release command, with a fake host in the place of microVMs.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import type { Release } from "@skerry/contract/apps/release";
import { useApps, WEB } from "./support/apps.ts";
import { activateBuilder, builtTemplate, buildNow, forgetBuildsAndVms } from "./support/builds.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, getDeploy, untilLive } = useApps(world);
const { template: _template, ...PROCESSES } = WEB;
const built = (run: string, more: object = {}): object => ({
  ...PROCESSES,
  build: { size: "shared-cpu-1x", steps: [{ run }] },
  ...more,
});
/** Ids of the versions of the app's template. */
const versions = async (): Promise<string[]> => {
  const { rows } = await sql<{ id: string }>`
    select id from templates where name = 'app-shop' and status = 'ready' order by id`.execute(world.db);
  return rows.map(({ id }) => id);
};
const exit = (code: number) => ({ exit: { exit_code: code, signal: 0, oom_killed: false } });
/** The microVM that runs a release command. */
const job = async () => (await getApp()).instances.find(({ name }) => name.startsWith("release_command"));

afterEach(() => forgetBuildsAndVms(world));

test("a deploy builds the template of its release, and its timeout begins when that is ready", async () => {
  await newApp();
  const one = await deploy(built("make"));
  expect(one.build_id).toMatch(/^bld_/);
  await turn();
  await sql`update deploys set ends_by = now()`.execute(world.db);
  await turn();
  expect(await getDeploy(one)).toMatchObject({ status: "building", reason: null });
  expect((await getApp()).instances).toEqual([]);
  await activateBuilder(world);
  await untilLive(one);
  const { template_id: template } = await buildNow(world, one.build_id ?? "");
  const { body } = await world.call<{ items: Release[] }>("GET", "/v1/apps/shop/releases");
  expect(body.items).toMatchObject([{ number: 1, template }]);
  const machine = await world.call("GET", `/v1/machines/${(await getApp()).instances[0]?.machine_id}`);
  expect(machine.body).toMatchObject({ template });
});

test("a template that no release has any more goes, and all of an app's go with it, and none of its name that is the organization's own", async () => {
  await newApp();
  const before = await versions();
  const own = await builtTemplate(world, { name: "app-shop", steps: [{ run: "make mine" }] });
  const first = await deploy(built("make"));
  await activateBuilder(world);
  await untilLive(first);
  await sql`update releases set template = 'base'`.execute(world.db);
  await untilLive(await deploy({ ...PROCESSES, template: "base" }));
  expect(await versions()).toEqual([...before, own.template_id]);
  const last = await deploy(built("make again"));
  await turn();
  await activateBuilder(world);
  await untilLive(last);
  expect(await versions()).toHaveLength(before.length + 2);
  await world.call("DELETE", "/v1/apps/shop");
  for (let turns = 0; turns < 4; turns += 1) await turn();
  expect(await versions()).toEqual([...before, own.template_id]);
});

test("a build that fails has failed its deploy, with the end of its log, and what serves goes on", async () => {
  await newApp();
  await untilLive(await deploy());
  const one = await deploy(built("fail 7"));
  await turn();
  await activateBuilder(world);
  await turn();
  const { status, reason } = await getDeploy(one);
  expect(status).toBe("failed");
  expect(reason).toMatchObject({ code: "build_step_failed", instance: null });
  expect(reason?.last_lines.length).toBeGreaterThan(0);
  expect(await getApp()).toMatchObject({ release: 1, instances: [{ state: "serving" }] });
  // It was never built, so there is nothing to go back to.
  const back = await world.call("POST", "/v1/apps/shop/deploys", { body: { release: 2 } });
  expect([back.status, back.body["code"]]).toEqual([404, "release_not_found"]);
});

test("the build of a deploy that is canceled or superseded ends with it", async () => {
  await newApp();
  for (const end of [
    (id: string) => world.call("POST", `/v1/apps/shop/deploys/${id}/cancel`, { body: {} }),
    () => deploy(),
  ]) {
    const one = await deploy(built("make", { build: { context: true, dockerfile: {} } }));
    await turn();
    await end(one.id);
    await turn();
    expect((await buildNow(world, one.build_id ?? "")).status).toBe("canceled");
  }
});

test("a build that is canceled by itself fails its deploy", async () => {
  await newApp();
  const one = await deploy(built("make"));
  await turn();
  await world.call<Build>("POST", `/v1/builds/${one.build_id}/cancel`, { body: {} });
  await turn();
  expect(await getDeploy(one)).toMatchObject({ status: "failed", reason: { code: "build_canceled" } });
});

test("a release command runs once, with the release's environment, before an instance is started", async () => {
  await newApp();
  const one = await deploy({ ...WEB, release_command: "migrate", env: { LEVEL: "debug" } });
  await turn();
  const running = await job();
  expect(running).toMatchObject({ name: "release_command.1", release: 1 });
  expect((await getApp()).instances).toHaveLength(1);
  expect((await getDeploy(one)).status).toBe("releasing");
  const spec = world.host.vms.get(running?.machine_id ?? "")?.spec;
  expect(spec).toMatchObject({ machine: { command: "migrate" }, env: { LEVEL: "debug" } });
  // The process that started it died before it wrote that down.
  await sql`delete from app_instances`.execute(world.db);
  await turn();
  expect((await job())?.machine_id).toBe(running?.machine_id);
  world.host.end(running?.machine_id ?? "", "the main process exited with 0", exit(0));
  await untilLive(one);
  expect(await job()).toBeUndefined();
  expect(world.host.vms.has(running?.machine_id ?? "")).toBe(false);
  // It is taken over until a deploy says that there is none.
  const again = await deploy();
  await turn();
  expect((await getDeploy(again)).status).toBe("releasing");
  await untilLive(await deploy({ ...WEB, release_command: null }));
  expect(await job()).toBeUndefined();
});

test("a release command that fails has failed its deploy before an instance is started, and is kept for its log", async () => {
  await newApp();
  await untilLive(await deploy());
  const one = await deploy({ ...WEB, release_command: "migrate" });
  await turn();
  const running = await job();
  world.host.console.print(running?.machine_id ?? "", "no table orders\n");
  world.host.end(running?.machine_id ?? "", "the main process exited with 3", exit(3));
  for (let turns = 0; turns < 3; turns += 1) await turn();
  expect(await getDeploy(one)).toMatchObject({
    status: "failed",
    reason: { code: "instance_failed", exit_code: 3, last_lines: ["no table orders"] },
  });
  expect((await getApp()).instances).toMatchObject([
    { release: 2, state: "failed" },
    { release: 1, state: "serving" },
  ]);
});

test("a deploy begins with exactly one of template, image, build and release", async () => {
  await newApp();
  for (const body of [{}, { template: "base", image: "alpine:3" }, { build: {}, release: 1 }]) {
    const answer = await world.call("POST", "/v1/apps/shop/deploys", { body });
    expect([answer.status, answer.body["code"]]).toEqual([400, "bad_request"]);
  }
});

test("a live release whose instance ends goes back to the one before while it is watched, once", async () => {
  await newApp();
  await untilLive(await deploy({ ...WEB, env: { A: "1" } }));
  const second = await deploy({ ...WEB, env: { A: "2" }, watch: "10m" });
  await untilLive(second);
  const failing = (await getApp()).instances[0]?.machine_id ?? "";
  world.host.console.print(failing, "out of luck\n");
  world.host.end(failing, "the main process exited with 3", exit(3));
  for (let turns = 0; turns < 2; turns += 1) await turn();
  expect(await getDeploy(second)).toMatchObject({
    status: "rolled_back",
    reason: { code: "instance_failed", exit_code: 3, last_lines: ["out of luck"] },
  });
  const { deploy: back } = await getApp();
  expect(back).toMatchObject({ release: 3, created_by: null });
  if (back === null) throw new Error("no deploy");
  await untilLive(back);
  const [instance] = (await getApp()).instances;
  expect(world.host.vms.get(instance?.machine_id ?? "")?.spec.env).toMatchObject({ A: "1" });
  // The release that it went back to is not watched: nothing is left to go to.
  world.host.end(instance?.machine_id ?? "", "the main process exited with 3", exit(3));
  for (let turns = 0; turns < 2; turns += 1) await turn();
  expect((await getApp()).deploy).toMatchObject({ id: back.id, status: "live" });
  const { body } = await world.call<{ items: object[] }>("GET", "/v1/audit?action=deploy.rollback");
  expect(body.items).toHaveLength(1);
});

test("a release that is not watched, and the first one, stay where an instance of theirs ends", async () => {
  await newApp();
  for (const body of [WEB, { ...WEB, watch: "0s" }]) {
    const one = await deploy(body);
    await untilLive(one);
    world.host.end((await getApp()).instances[0]?.machine_id ?? "", "gone", exit(1));
    for (let turns = 0; turns < 2; turns += 1) await turn();
    expect((await getDeploy(one)).status).toBe("live");
  }
});

test("an instance of a watched release is replaced where the release before is forgotten", async () => {
  await newApp();
  await untilLive(await deploy());
  const second = await deploy({ ...WEB, watch: "10m" });
  await untilLive(second);
  await sql`delete from releases where number = 1`.execute(world.db);
  const [failed] = (await getApp()).instances;
  world.host.end(failed?.machine_id ?? "", "gone", exit(1));
  for (let turns = 0; turns < 3; turns += 1) await turn();
  await sql`update apps set start_after = now()`.execute(world.db);
  await turn();
  expect((await getDeploy(second)).status).toBe("live");
  expect((await getApp()).instances).toMatchObject([{ release: 2, state: "starting" }]);
});
