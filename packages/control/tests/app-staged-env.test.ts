// Variables of an app that wait for its next deploy.

import { expect, test } from "vitest";
import type { App } from "@skerry/contract/apps/app";
import type { Deploy } from "@skerry/contract/apps/deploy";
import type { AuditEvent } from "@skerry/contract/audit/audit-event";
import { useApps, WEB } from "./support/apps.ts";
import { Events } from "./support/event-readers.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, getDeploy, untilLive } = useApps(world);

const stage = (changes: object, token = world.token) =>
  world.call<App>("PATCH", "/v1/apps/shop", { body: { env_changes: changes }, token });
const staged = async () => (await getApp()).staged_variables;
const nothing = { set: [], unset: [] };

/** Environment that releases of the app were given, by their numbers. */
async function envOf(release: number) {
  const { env } = await world.db
    .selectFrom("releases")
    .select("env")
    .where("app_id", "=", (await getApp()).id)
    .where("number", "=", release)
    .executeTakeFirstOrThrow();
  return env;
}

async function untilOver(one: Deploy): Promise<Deploy> {
  for (let tries = 0; (await getDeploy(one)).finished_at === null; tries += 1) {
    expect(tries).toBeLessThan(20);
    await turn();
  }
  return getDeploy(one);
}

test("they deploy nothing, are shown by their names, and are in the release of the next deploy", async () => {
  await newApp();
  await untilLive(await deploy({ ...WEB, env: { A: "1", B: "2" } }));
  expect((await stage({ A: "one", C: "3" })).body.staged_variables).toEqual({ set: ["A", "C"], unset: [] });
  const answer = await stage({ B: null, C: "three" });
  expect(answer.body.staged_variables).toEqual({ set: ["A", "C"], unset: ["B"] });
  expect(answer.text).not.toContain("three");
  await turn();
  expect(await getApp()).toMatchObject({ release: 1, deploy: { release: 1 } });
  await untilLive(await deploy());
  expect(await envOf(2)).toEqual({ A: "one", C: "three" });
  expect(await staged()).toEqual(nothing);
  const [instance] = (await getApp()).instances;
  expect(world.host.vms.get(instance?.machine_id ?? "")?.spec.env).toMatchObject({ A: "one", C: "three" });
  await untilLive(await deploy());
  expect(await envOf(3)).toEqual({ A: "one", C: "three" });
});

test("they count more than the environment of a request, and less than its own changes", async () => {
  await newApp();
  await stage({ A: "staged", B: "staged", C: null });
  await untilLive(
    await deploy({ ...WEB, env: { A: "env", C: "env", D: "env" }, env_changes: { B: "change" } }),
  );
  expect(await envOf(1)).toEqual({ A: "staged", B: "change", D: "env" });
});

test("the live release once more takes them over, and an earlier one leaves them waiting", async () => {
  await newApp();
  await untilLive(await deploy({ ...WEB, env: { A: "1" } }));
  await untilLive(await deploy({ ...WEB, env: { A: "2" } }));
  await stage({ B: "staged" });
  await untilLive(await deploy({ release: 1 }));
  expect(await envOf(3)).toEqual({ A: "1" });
  expect(await staged()).toEqual({ set: ["B"], unset: [] });
  await untilLive(await deploy({ release: 3, env_changes: { C: "3" } }));
  expect(await envOf(4)).toEqual({ A: "1", B: "staged", C: "3" });
  expect(await staged()).toEqual(nothing);
});

test("those of a deploy that fails wait again, but for what was staged anew", async () => {
  await newApp();
  await untilLive(await deploy());
  await stage({ A: "1", B: "1" });
  const failing = await deploy();
  expect(await staged()).toEqual(nothing);
  await turn();
  await stage({ B: "2" });
  const instance = (await getApp()).instances.find(({ release }) => release === 2);
  world.host.end(instance?.machine_id ?? "", "the main process exited with 3");
  expect((await untilOver(failing)).status).toBe("failed");
  expect(await staged()).toEqual({ set: ["A", "B"], unset: [] });
  await untilLive(await deploy());
  expect([await envOf(2), await envOf(3)]).toEqual([
    { A: "1", B: "1" },
    { A: "1", B: "2" },
  ]);
});

test("those of a deploy that is canceled wait again", async () => {
  await newApp();
  await untilLive(await deploy());
  await stage({ A: "1", B: null });
  const { id } = await deploy();
  expect((await world.call("POST", `/v1/apps/shop/deploys/${id}/cancel`)).status).toBe(200);
  expect(await staged()).toEqual({ set: ["A"], unset: ["B"] });
});

test("a deploy that supersedes another one takes over what that had, unless it goes back", async () => {
  await newApp();
  await untilLive(await deploy());
  await stage({ A: "1" });
  await deploy();
  await deploy();
  await deploy({ ...WEB, env_changes: { B: "2" } });
  expect(await staged()).toEqual(nothing);
  expect([await envOf(2), await envOf(3), await envOf(4)]).toEqual([
    { A: "1" },
    { A: "1" },
    { A: "1", B: "2" },
  ]);
  await untilLive(await deploy({ release: 2 }));
  expect(await staged()).toEqual({ set: ["A"], unset: [] });
});

test("those of a release that goes back by itself wait again, and those of one that stays do not", async () => {
  await newApp();
  await untilLive(await deploy());
  await stage({ A: "1" });
  await untilLive(await deploy({ ...WEB, watch: "1h" }));
  expect(await staged()).toEqual(nothing);
  const [instance] = (await getApp()).instances;
  world.host.end(instance?.machine_id ?? "", "the main process exited with 3");
  for (let tries = 0; (await getApp()).deploy?.release !== 3; tries += 1) {
    expect(tries).toBeLessThan(20);
    await turn();
  }
  expect([await envOf(2), await envOf(3)]).toEqual([{ A: "1" }, {}]);
  expect(await staged()).toEqual({ set: ["A"], unset: [] });
});

test("what is staged while a deploy is made waits for the next one", async () => {
  await newApp();
  await untilLive(await deploy());
  await stage({ A: "1" });
  // The build of a deploy is made before its row: changes that come meanwhile are not lost.
  const answers = await Promise.all([
    world.call<Deploy>("POST", "/v1/apps/shop/deploys", { body: WEB }),
    ...[2, 3, 4].map((value) => stage({ [`B${value}`]: String(value) })),
  ]);
  const { release } = answers[0].body as Deploy;
  const env = await envOf(release);
  const { set } = await staged();
  expect([...Object.keys(env), ...set].toSorted()).toEqual(["A", "B2", "B3", "B4"]);
});

test.each([
  [{ "A=B": "1" }],
  [{ "": "1" }],
  [{ A: "x\0" }],
  [{ "A\n": null }],
  [{ A: "x".repeat(140_000) }],
  [Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`N${n}`, null]))],
  [Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`N${n}`, "x".repeat(10_000)]))],
])("what is no environment is refused, and nothing is staged of it: %#", async (changes) => {
  await newApp();
  expect((await stage({ KEPT: "1" })).status).toBe(200);
  const refused = await stage(changes);
  expect([refused.status, refused.body]).toMatchObject([400, { code: "invalid_env" }]);
  expect(await staged()).toEqual({ set: ["KEPT"], unset: [] });
});

test("many requests cannot stage more together than one could", async () => {
  await newApp();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => stage({ [`N${n}`]: "x".repeat(10_000) })),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
  expect((await staged()).set).toHaveLength(5);
});

test("names of an object's own are variables like others", async () => {
  await newApp();
  const env = { constructor: "1", toString: "2", hasOwnProperty: "3" };
  await untilLive(await deploy({ ...WEB, env }));
  expect(await envOf(1)).toEqual(env);
  await stage({ valueOf: "4", toString: null });
  expect(await staged()).toEqual({ set: ["valueOf"], unset: ["toString"] });
  await untilLive(await deploy({ ...WEB, env_changes: { A: "5" } }));
  expect(await envOf(2)).toEqual({ constructor: "1", hasOwnProperty: "3", valueOf: "4", A: "5" });
});

test("no answer, no event and no audit event has a value, and a reader of apps stages nothing", async () => {
  await newApp();
  const events = new Events(world);
  const cursor = await events.latest();
  const secret = "hush-hush";
  expect((await stage({ TOKEN: secret })).status).toBe(200);
  const told = await events.after(cursor, { query: "&kind=app,deploy" });
  expect(told.map(({ resource }) => resource)).toEqual([await getApp()]);
  const audited = await world.call<{ items: AuditEvent[] }>("GET", "/v1/audit?action=app.update");
  expect(audited.body.items.length).toBeGreaterThan(0);
  const one = await deploy();
  await untilLive(one);
  const shown = [await getApp(), await getDeploy(one), told, audited.body];
  const paths = ["/v1/apps", "/v1/apps/shop/releases", "/v1/apps/shop/deploys"];
  const lists = await Promise.all(paths.map((path) => world.call("GET", path)));
  expect(JSON.stringify([shown, lists.map(({ text }) => text)])).not.toContain(secret);
  const { token } = await events.mint({ scopes: ["apps:read"] });
  expect((await stage({ A: "1" }, token)).body).toMatchObject({ code: "forbidden" });
  expect((await stage({ A: "1" }, await world.strangerToken())).body).toMatchObject({
    code: "app_not_found",
  });
  expect(await staged()).toEqual(nothing);
});
