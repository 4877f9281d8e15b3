// API keys and teams for E2B's clients: tokens and the organization.

import { expect, test } from "vitest";
import { uuidOf } from "../src/e2b/uuid-ids.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();

interface Key {
  readonly id: string;
  readonly name: string;
  readonly key?: string;
}

test("a key is made, works as it is given, is listed without its secret, and ends", async () => {
  const made = await world.call<Key>("POST", "/e2b/api-keys", { body: { name: "ci" } });
  expect([made.status, made.body.name]).toEqual([201, "ci"]);
  const headers = { "x-api-key": made.body.key ?? "" };
  const use = () => world.call("GET", "/e2b/sandboxes", { token: "", headers });
  expect((await use()).status).toBe(200);
  const list = await world.call<Key[]>("GET", "/e2b/api-keys");
  expect(list.body.find(({ id }) => id === made.body.id)).toMatchObject({ name: "ci" });
  expect(list.text).not.toContain('"key"');
  const remove = () => world.call("DELETE", `/e2b/api-keys/${made.body.id}`);
  expect([(await remove()).status, (await use()).status]).toEqual([204, 401]);
  expect((await world.call("DELETE", "/e2b/api-keys/nothing")).status).toBe(404);
  expect((await world.call("POST", "/e2b/api-keys", { body: { name: "" } })).status).toBe(400);
});

test("a key has no right that the one that makes it has not", async () => {
  const weak = await world.call<{ token: string }>("POST", "/v1/auth/tokens", {
    body: { scopes: ["sandboxes:read"] },
  });
  const { token } = weak.body;
  for (const [method, path] of [
    ["GET", "/e2b/api-keys"],
    ["POST", "/e2b/api-keys"],
    ["GET", "/e2b/teams"],
  ] as const)
    expect(
      (await world.call(method, path, { token, ...(method === "POST" && { body: { name: "x" } }) })).status,
      path,
    ).toBe(403);
});

test("the one team is the organization, and its metrics are its usage", async () => {
  const teams = await world.call<{ teamID: string; apiKey: string; isDefault: boolean }[]>(
    "GET",
    "/e2b/teams",
  );
  const team = uuidOf(world.orgId);
  const apiKey = `e2b_${Buffer.from(world.token).toString("hex")}`;
  expect(teams.body).toMatchObject([{ teamID: team, apiKey, isDefault: true }]);
  const metrics = await world.call<unknown[]>("GET", `/e2b/teams/${team}/metrics`);
  expect([metrics.status, Array.isArray(metrics.body)]).toEqual([200, true]);
  const most = await world.call("GET", `/e2b/teams/${team}/metrics/max?metric=concurrent_sandboxes`);
  expect(most.body).toMatchObject({ value: expect.any(Number) });
  const wrong = await world.call("GET", `/e2b/teams/${uuidOf("org_00000000000000000000000000")}/metrics`);
  expect(wrong.status).toBe(404);
});
