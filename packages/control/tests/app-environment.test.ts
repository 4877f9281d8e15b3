// The environment of an app: its variables, secrets of its own, and microVMs for commands by hand.

import { sql } from "kysely";
import { expect, test } from "vitest";
import type { App } from "@skerry/contract/apps/app";
import type { Release } from "@skerry/contract/apps/release";
import { SkerryError } from "@skerry/contract/errors";
import type { Machine } from "@skerry/contract/machines/machine";
import { useApps, WEB } from "./support/apps.ts";
import { openReplica } from "./support/replica.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const { turn, newApp, getApp, deploy, getDeploy, untilLive } = useApps(world);
const set = async (path: string, value: string) => {
  const answer = await world.call("PUT", path, { body: { value } });
  expect(`${answer.status} ${answer.text}`).toMatch(/^200/);
};
/** Environment that the host was told of the only instance of the app. */
async function given(app = "shop") {
  const serving = (await getApp(app)).instances.filter(({ state }) => state === "serving");
  expect(serving).toHaveLength(1);
  return specOf(serving[0]?.machine_id ?? "");
}
const specOf = (id: string) => {
  const { env, secrets = {} } = world.host.vms.get(id)?.spec ?? {};
  return { ...env, ...secrets };
};
const liveRelease = async () => {
  const { body } = await world.call<{ items: Release[] }>("GET", "/v1/apps/shop/releases");
  return body.items[0];
};

test("secrets of an app are in its instances and in no other's, before those of the organization", async () => {
  await newApp();
  await newApp("other");
  await set("/v1/secrets/SHARED", "of all");
  await set("/v1/secrets/API_KEY", "of the organization");
  await set("/v1/apps/shop/secrets/API_KEY", "of the shop");
  await untilLive(await deploy({ ...WEB, secrets: [{ name: "SHARED" }, { name: "API_KEY" }] }));
  expect(await given()).toMatchObject({ SHARED: "of all", API_KEY: "of the shop" });
  expect((await liveRelease())?.secrets).toEqual(["SHARED", "API_KEY"]);
  const other = await deploy({ ...WEB, secrets: [{ name: "API_KEY" }] }, "other");
  while ((await getDeploy(other)).status === "queued") await turn();
  const [instance] = (await getApp("other")).instances;
  expect(specOf(instance?.machine_id ?? "")).toMatchObject({ API_KEY: "of the organization" });
  // Another value is in instances of the next deploy.
  await set("/v1/apps/shop/secrets/API_KEY", "anew");
  expect(await given()).toMatchObject({ API_KEY: "of the shop" });
  await untilLive(await deploy({ release: 1 }));
  expect(await given()).toMatchObject({ API_KEY: "anew" });
  const machine = (await getApp()).instances[0]?.machine_id ?? "";
  const gone = await world.call("DELETE", "/v1/apps/shop/secrets/API_KEY");
  expect(gone.body).toEqual({ name: "API_KEY", still_in: [machine] });
});

test("one that is deleted keeps no instance from starting, and goes with its app", async () => {
  await newApp();
  await set("/v1/apps/shop/secrets/API_KEY", "hush");
  await untilLive(await deploy());
  expect(await given()).toMatchObject({ API_KEY: "hush" });
  expect((await world.call("DELETE", "/v1/apps/shop/secrets/API_KEY")).status).toBe(200);
  expect((await world.call("PATCH", "/v1/apps/shop", { body: { scale: { web: 2 } } })).status).toBe(200);
  await turn();
  const added = (await getApp()).instances.find(({ state }) => state === "starting");
  expect(specOf(added?.machine_id ?? "")).not.toHaveProperty("API_KEY");
  await set("/v1/apps/shop/secrets/API_KEY", "again");
  const { id } = await getApp();
  expect((await world.call("DELETE", "/v1/apps/shop")).status).toBe(200);
  expect((await world.call("PUT", "/v1/apps/shop/secrets/NEXT", { body: { value: "x" } })).body["code"]).toBe(
    "app_deleting",
  );
  for (let tries = 0; (await world.call("GET", `/v1/apps/${id}`)).status !== 404; tries += 1) {
    expect(tries).toBeLessThan(10);
    await turn();
  }
  const left = await world.db
    .selectFrom("secret_versions")
    .select("name")
    .where("scope", "like", `%${id}`)
    .execute();
  expect(left).toEqual([]);
});

test("variables are changed one by one, and one that is a secret too is refused", async () => {
  await newApp();
  await untilLive(await deploy({ ...WEB, env: { A: "1", B: "2", C: "3" } }));
  await untilLive(await deploy({ release: 1, env_changes: { B: "two", C: null, D: "4" } }));
  expect(await given()).toMatchObject({ A: "1", B: "two", D: "4" });
  expect(await given()).not.toHaveProperty("C");
  await set("/v1/apps/shop/secrets/A", "hush");
  const refused = await world.call("POST", "/v1/apps/shop/deploys", { body: { release: 2 } });
  expect(refused.body).toMatchObject({ code: "invalid_env", context: { name: "A" } });
  await untilLive(await deploy({ release: 2, env_changes: { A: null } }));
  expect(await given()).toMatchObject({ A: "hush" });
});

const ONE_OFFS = "/v1/apps/shop/one-offs";

test("a one-off has the environment of the live release and no process of it, and goes when it is told to", async () => {
  await newApp();
  expect((await world.call("POST", ONE_OFFS, { body: {} })).body["code"]).toBe("release_not_found");
  await set("/v1/apps/shop/secrets/API_KEY", "hush");
  await untilLive(await deploy({ ...WEB, env: { A: "1" } }));
  const made = await world.call<Machine>("POST", ONE_OFFS, { body: { size: "shared-cpu-2x" } });
  expect(made.status).toBe(201);
  const { id } = made.body;
  expect(made.body).toMatchObject({
    status: "running",
    size: "shared-cpu-2x",
    owner: { kind: "app", name: "shop" },
  });
  expect(made.body.command).toBeNull();
  expect(specOf(id)).toMatchObject({ A: "1", API_KEY: "hush" });
  await turn();
  await turn();
  // It is no instance that takes part in deploys, and takes no requests.
  expect(world.host.vms.has(id)).toBe(true);
  expect(world.host.edge.served()).toEqual({ web: [expect.not.stringContaining(id)] });
  await untilLive(await deploy({ ...WEB, env: { A: "2" } }));
  expect(world.host.vms.has(id)).toBe(true);
  expect(
    (await world.call("DELETE", `${ONE_OFFS}/${(await getApp()).instances[0]?.machine_id}`)).status,
  ).toBe(404);
  expect((await world.call("DELETE", `${ONE_OFFS}/${id}`)).status).toBe(204);
  await turn();
  expect(world.host.vms.has(id)).toBe(false);
});

test("one-offs are few at once, end by themselves, and go with their app", async () => {
  await newApp();
  await untilLive(await deploy());
  const ids: string[] = [];
  for (let count = 0; count < 10; count += 1)
    ids.push((await world.call<Machine>("POST", ONE_OFFS, { body: {} })).body.id);
  expect((await world.call("POST", ONE_OFFS, { body: {} })).body).toMatchObject({ code: "quota_exceeded" });
  const [first = "", ...others] = ids;
  world.host.end(first, "it was idle");
  for (let tries = 0; tries < 3; tries += 1) await turn();
  const again = await world.call<Machine>("POST", ONE_OFFS, { body: {} });
  expect(again.status).toBe(201);
  await world.call<App>("DELETE", "/v1/apps/shop");
  for (let tries = 0; tries < 4; tries += 1) await turn();
  expect(others.filter((id) => world.host.vms.has(id))).toEqual([]);
});

test("requests at once over two replicas make no more one-offs than there may be, and leave no other machine", async () => {
  await using other = await openReplica(world);
  await newApp();
  await untilLive(await deploy());
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, n) =>
      world.call<Machine>("POST", ONE_OFFS, { body: {}, url: n % 2 === 0 ? world.url : other.url }),
    ),
  );
  const made = answers.filter(({ status }) => status === 201);
  expect(made).toHaveLength(10);
  for (const { status, body } of answers)
    if (status !== 201)
      expect(body).toMatchObject({ code: "quota_exceeded", context: { quota: "one_offs", used: 10 } });
  const path = `/v1/machines?owner=app:${(await getApp()).id}&limit=100`;
  const { body } = await world.call<{ items: Machine[] }>("GET", path);
  const oneOffs = body.items.filter(({ name }) => name?.includes("/one_off.") === true);
  expect(oneOffs.map(({ id }) => id).toSorted()).toEqual(made.map(({ body: { id } }) => id).toSorted());
});

test("a one-off that its host does not start is no one-off any more", async () => {
  await newApp();
  await untilLive(await deploy());
  world.host.failures.set("start", new SkerryError("host_unavailable", "The host is tired."));
  const answers = await Promise.all(
    Array.from({ length: 3 }, () => world.call("POST", ONE_OFFS, { body: {} })),
  );
  world.host.failures.clear();
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
  await turn();
  await turn();
  const { rows } = await sql`select 1 from app_instances where group_name = 'one_off'`.execute(world.db);
  expect(rows).toEqual([]);
});
