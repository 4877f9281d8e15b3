// Requests about apps that are refused, and why.

import { sql } from "kysely";
import { beforeEach, expect, test } from "vitest";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const newApp = () => world.call("POST", "/v1/apps", { body: { name: "shop" } });

beforeEach(async () => {
  await world.beat();
  await sql`delete from apps`.execute(world.db);
});

test.each([
  [{}, "bad_request"],
  [{ template: "base", release: 1 }, "bad_request"],
  [{ template: "none" }, "template_not_found"],
  [{ template: "base", services: [{ group: "api", port: 80 }] }, "invalid_manifest"],
  [{ template: "base", processes: {} }, "invalid_manifest"],
  [
    {
      template: "base",
      services: [
        { group: "web", port: 80 },
        { group: "web", port: 81 },
      ],
    },
    "invalid_manifest",
  ],
  [{ template: "base", processes: { web: { size: "huge" } } }, "unknown_size"],
  [{ template: "base", timeout: "9h" }, "timeout_too_long"],
  [{ template: "base", secrets: [{ name: "NONE" }] }, "secret_not_found"],
  [{ template: "base", proceses: {} }, "unknown_field"],
])("a deploy that cannot be carried out is refused: %j", async (body, code) => {
  await newApp();
  expect((await world.call("POST", "/v1/apps/shop/deploys", { body })).body["code"]).toBe(code);
});

test("a name is one app's, and its address the first one's on the platform", async () => {
  await newApp();
  const { status, body } = await world.call("POST", "/v1/apps", { body: { name: "shop" } });
  expect([status, body["code"]]).toEqual([409, "name_taken"]);
  expect((await world.call("POST", "/v1/apps", { body: { name: "Shop!" } })).body["code"]).toBe(
    "bad_request",
  );
});
