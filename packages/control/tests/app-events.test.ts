// Changes of apps and deploys, as `GET /v1/events` tells them.

import { sql } from "kysely";
import { expect, test } from "vitest";
import type { ResourceEvent } from "@skerry/contract/events/resource-event";
import { goneApps } from "../src/apps/gone-apps.ts";
import { forgetBeyond } from "../src/db/keep-newest.ts";
import { useApps, WEB } from "./support/apps.ts";
import { EventReader, Events } from "./support/event-readers.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, getDeploy, untilLive } = useApps(world);
const events = new Events(world);
const ofApps = { query: "&kind=app,deploy" };

const told = (items: readonly ResourceEvent[]) => items.map(({ kind, id }) => `${kind} ${id}`).toSorted();

test("an app and its deploy are told as their own GETs answer them", async () => {
  const cursor = await events.latest();
  const { id } = await newApp();
  const one = await deploy();
  await untilLive(one);
  const items = await events.after(cursor, ofApps);
  expect(told(items)).toEqual([`app ${id}`, `deploy ${one.id}`]);
  for (const { kind, resource } of items)
    expect(resource).toEqual(kind === "app" ? await getApp() : await getDeploy(one));
});

const PATCH = (body: object) => world.call("PATCH", "/v1/apps/shop", { body });

test.each<[string, () => Promise<unknown>]>([
  ["a scale", () => PATCH({ scale: { web: 2 } })],
  ["a variable that waits", () => PATCH({ env_changes: { A: "1" } })],
  ["its maintenance", () => PATCH({ maintenance: true })],
  ["a deploy that comes", () => deploy()],
  ["an instance that ends", () => sql`delete from app_instances`.execute(world.db)],
  ["an instance that drains", () => sql`update app_instances set state = 'draining'`.execute(world.db)],
  ["a deploy that goes on", () => sql`update deploys set version = version + 1`.execute(world.db)],
  ["a deploy with more time", () => sql`update deploys set ends_by = now()`.execute(world.db)],
])("%s is a change of the app, with a version that is higher", async (_what, change) => {
  await newApp();
  await untilLive(await deploy());
  const { id } = await getApp();
  const cursor = await events.latest();
  const before = await versionOf(id);
  await change();
  const [item] = (await events.after(cursor, ofApps)).filter((one) => one.id === id);
  expect(item?.resource).toEqual(await getApp());
  expect(item?.version).toBeGreaterThan(before);
});

async function versionOf(id: string): Promise<number> {
  const { version } = await world.db
    .selectFrom("app_changes")
    .select("version")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return version;
}

test("turns of the deployer in which nothing happens are no changes", async () => {
  await newApp();
  await untilLive(await deploy());
  const cursor = await events.latest();
  await turn();
  await turn();
  expect(await events.after(cursor, ofApps)).toEqual([]);
});

test("an app that is gone is told as nothing, also where another one has its name", async () => {
  const { id } = await newApp();
  const cursor = await events.latest();
  await world.call("DELETE", "/v1/apps/shop");
  await turn();
  const second = await newApp();
  const items = await events.after(cursor, ofApps);
  expect(items.map(({ id: one, resource }) => [one, resource !== null])).toEqual([
    [id, false],
    [second.id, true],
  ]);
});

test("an app that is gone is told for longer than a cursor is good for, and then forgotten", async () => {
  const { id } = await newApp();
  await sql`delete from apps`.execute(world.db);
  const forget = () => forgetBeyond(world.db, goneApps, { orgId: world.orgId, limit: 100 });
  await sql`update app_changes set gone_at = gone_at - interval '25 hours' where id = ${id}`.execute(
    world.db,
  );
  await forget();
  expect(await versionOf(id)).toBeGreaterThan(1);
  await sql`update app_changes set gone_at = gone_at - interval '25 hours' where id = ${id}`.execute(
    world.db,
  );
  await forget();
  await expect(versionOf(id)).rejects.toThrow("no result");
});

test("another organization and a token for machines alone are told nothing of apps", async () => {
  const stranger = await world.strangerToken();
  const machines = await events.mint({ scopes: ["machines:read"] });
  const cursor = await events.latest();
  const { id } = await newApp();
  await untilLive(await deploy());
  expect(await events.after(cursor, { token: stranger })).toEqual([]);
  const ofMachines = await events.after(cursor, { token: machines.token });
  expect(new Set(ofMachines.map(({ kind }) => kind))).toEqual(new Set(["machine"]));
  for (const kind of ["app", "deploy"]) {
    const refused = await world.call("GET", `/v1/events?kind=${kind}`, { token: machines.token });
    expect([refused.status, refused.body["context"]]).toEqual([
      403,
      { required_scope: "apps:read", organization_id: world.orgId },
    ]);
  }
  const apps = await events.mint({ scopes: ["apps:read"] });
  const ofThem = await events.after(cursor, { token: apps.token });
  expect(new Set(ofThem.map(({ kind }) => kind))).toEqual(new Set(["app", "deploy"]));
  expect(ofThem.map((one) => one.id)).toContain(id);
});

test("a stream follows a deploy to its end", async () => {
  await newApp();
  await using reader = await EventReader.of(world, "latest", { query: "&kind=deploy" });
  await reader.synced();
  const one = await deploy();
  await reader.until(({ known }) => known.get(one.id)?.resource?.status === "queued", "it is told");
  await untilLive(one);
  await reader.until(({ known }) => known.get(one.id)?.resource?.status === "live", "its end is told");
});

test("calls and the deployer that change one app at once never wait for each other in a circle", async () => {
  await newApp();
  await untilLive(await deploy());
  const { id } = await getApp();
  const { rows } = await sql<{ before: number }>`
    select deadlocks::int as before from pg_stat_database where datname = current_database()`.execute(
    world.db,
  );
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all([
      ...[1, 2, 3].map(() => world.call("POST", "/v1/apps/shop/deploys", { body: WEB })),
      turn(),
      ...[1, 2].map((web) => PATCH({ scale: { web } })),
    ]);
    for (const answer of answers) if (answer !== undefined) expect([200, 201]).toContain(answer.status);
  }
  const after = await sql<{ after: number }>`
    select deadlocks::int as after from pg_stat_database where datname = current_database()`.execute(
    world.db,
  );
  expect(after.rows[0]?.after).toBe(rows[0]?.before);
  const cursor = await events.latest();
  await PATCH({ scale: { web: 3 } });
  const [item] = await events.after(cursor, ofApps);
  expect(item?.id).toBe(id);
});
