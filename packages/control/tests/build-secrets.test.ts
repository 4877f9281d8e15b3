// Secrets of the organization in builds: the microVM has them while a Dockerfile's step runs, and nothing
// else does.

import { sql } from "kysely";
import { beforeEach, expect, test } from "vitest";
import { IMAGE_CONFIG_FILE } from "@skerry/build-plan/scripts/registry-files";
import type { Build } from "@skerry/contract/builds/build";
import { activateBuilder, buildNow, newBuild } from "./support/builds.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const VALUE = "correct-horse-battery-staple";
const FOLDER = "/run/skerry-build/secrets";
const FROM_CONTEXT = { context: true, dockerfile: {}, steps: undefined };

beforeEach(async () => {
  await sql`delete from secret_versions`.execute(world.db);
  await world.call("PUT", "/v1/secrets/NPM_TOKEN", { body: { value: "old" } });
});

const refused = async (request: object, token = world.token) =>
  (await world.call("POST", "/v1/templates", { token, body: { name: "web", ...request } })).body["code"];
const newTokenFor = async (...scopes: string[]) =>
  (await world.call<{ token: string }>("POST", "/v1/auth/tokens", { body: { scopes } })).body.token;

async function sent(request: object): Promise<Build> {
  const build = await newBuild(world, { ...FROM_CONTEXT, ...request });
  await activateBuilder(world);
  await world.call("PUT", `/v1/builds/${build.id}/context`, { body: "a tar archive" });
  return build;
}

test("each step of a Dockerfile has the version of its moment under the id that the request names, and only while it runs", async () => {
  const { files } = world.host;
  const config = Buffer.from(JSON.stringify({ OCIv1: { config: {} } }));
  files.set(IMAGE_CONFIG_FILE, { size: config.length, sha256: "", mode: 0o644, content: config });
  const { id } = await sent({ secrets: [{ name: "NPM_TOKEN", as: "npm" }] });
  await world.call("PUT", "/v1/secrets/NPM_TOKEN", { body: { value: VALUE } });
  const written: unknown[] = [];
  world.host.executions.imageStep = (execution) => {
    execution.write(`STEP 1: ${VALUE.slice(0, 9)}`);
    execution.write(`${VALUE.slice(9)}\n${"x".repeat(4_090)}${VALUE}${"y".repeat(10_000)}`);
    execution.end(0);
  };
  const set = files.set.bind(files);
  files.set = (path, file) => {
    if (path.startsWith(`${FOLDER}/n`)) written.push([path, file.mode, file.content.toString()]);
    return set(path, file);
  };
  await activateBuilder(world);
  files.set = set;
  world.host.executions.imageStep = undefined;
  const { status, error } = await buildNow(world, id);
  expect([status, error]).toEqual(["ready", null]);
  expect(written).toEqual([[`${FOLDER}/npm`, 0o600, VALUE]]);
  expect(files.has(`${FOLDER}/npm`)).toBe(false);
  const log = (await world.call("GET", `/v1/builds/${id}/logs`)).text;
  expect(log).toContain(`STEP 1: ${"*".repeat(VALUE.length)}"`);
  expect(log).not.toContain(VALUE.slice(0, 9));
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from (
      select to_jsonb(builds)::text as content from builds
      union all select to_jsonb(build_steps)::text from build_steps
      union all select to_jsonb(build_log)::text from build_log
      union all select to_jsonb(build_cache)::text from build_cache
      union all select to_jsonb(audit_events)::text from audit_events
    ) kept where content like ${`%${VALUE}%`}`.execute(world.db);
  expect(rows[0]?.count).toBe(0);
});

test("a secret that was deleted before its step fails the build by its name", async () => {
  const { id } = await sent({ secrets: [{ name: "NPM_TOKEN" }] });
  await world.call("DELETE", "/v1/secrets/NPM_TOKEN");
  await activateBuilder(world);
  expect(await buildNow(world, id)).toMatchObject({
    status: "failed",
    error: { code: "secret_not_found", message: "There is no secret NPM_TOKEN." },
  });
});

test("what could not be given is refused before anything is built", async () => {
  expect(await refused({ ...FROM_CONTEXT, secrets: [{ name: "MISSING" }] })).toBe("secret_not_found");
  expect(await refused({ steps: [{ run: "make" }], secrets: [{ name: "NPM_TOKEN" }] })).toBe("bad_request");
  const narrow = await newTokenFor("templates:write");
  expect(await refused({ ...FROM_CONTEXT, secrets: [{ name: "NPM_TOKEN" }] }, narrow)).toBe("forbidden");
});

test("a file takes no secret's place, and its sender needs to be allowed to read what the steps can print", async () => {
  const { id } = await newBuild(world, { ...FROM_CONTEXT, secrets: [{ name: "NPM_TOKEN", as: "npm" }] });
  await activateBuilder(world);
  const put = (path: string, token = world.token) =>
    world.call("PUT", `/v1/builds/${id}/${path}`, { token, body: "bytes" });
  expect(await put("secrets/npm")).toMatchObject({ status: 400, body: { code: "bad_request" } });
  const narrow = await newTokenFor("templates:write");
  expect(await put("context", narrow)).toMatchObject({ status: 403, body: { code: "forbidden" } });
  expect((await put("context")).status).toBe(200);
  const twice = [{ name: "NPM_TOKEN" }, { name: "NPM_TOKEN" }];
  expect(await refused({ ...FROM_CONTEXT, secrets: twice })).toBe("invalid_env");
});
