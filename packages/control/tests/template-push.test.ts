// Templates that are pushed to a registry, with a host that pretends to: the life of a push, and what it is refused for.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import { FAULT_PREFIX } from "@skerry/build-plan/scripts/builder-scripts";
import {
  IMAGE_DIGEST_FILE,
  mirrorsFile,
  REGISTRY_AUTH_FILE,
  REGISTRY_MIRRORS_FILE,
} from "@skerry/build-plan/scripts/registry-files";
import { SkerryError } from "@skerry/contract/errors";
import type { TemplateList } from "@skerry/contract/templates/template";
import {
  activateBuilder,
  buildNow,
  builtTemplate,
  forgetBuildsAndVms,
  heldMemoryMib,
  untilBuild,
} from "./support/builds.ts";
import type { FakeExecution } from "./support/fake-executions.ts";
import { Members } from "./support/members.ts";
import { useWorld } from "./support/world.ts";

const IMAGE = "registry.example:5000/team/web:42";
const DIGEST = `sha256:${"a".repeat(64)}`;
const PASSWORD = "correct-horse-battery-staple";
const world = useWorld();

function plant(path: string, text: string): void {
  const content = Buffer.from(text);
  world.host.files.set(path, { size: content.length, sha256: "", mode: 0o644, content });
}

afterEach(async () => {
  await forgetBuildsAndVms(world);
  for (const table of [
    "template_tags",
    "template_frozen",
    "template_hosts",
    "templates",
    "registry_credentials",
  ])
    await sql`delete from ${sql.table(table)}`.execute(world.db);
  world.host.files.clear();
  world.host.executions.imageStep = undefined;
});

async function push(template: unknown, body: Record<string, unknown> = {}): Promise<Build> {
  const wanted = { image: IMAGE, size: "shared-cpu-1x", ...body };
  const answer = await world.call<Build>("POST", `/v1/templates/${String(template)}/push`, { body: wanted });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body;
}

/** Has the step that pushes end with this, instead of well. */
function pushEnds(says: string, code = 125): void {
  world.host.executions.imageStep = (execution) => {
    execution.write(`${FAULT_PREFIX}${says}\n`, "stderr");
    execution.end(code);
  };
}

/** Has the step that pushes go on until it is told to end. */
function pushHangs(): Promise<FakeExecution> {
  return new Promise((resolve) => (world.host.executions.imageStep = resolve));
}

test("a template is pushed in a microVM that has its disk, and neither sealed, frozen nor published again", async () => {
  const { template_id: id } = await builtTemplate(world, { tag: "42", env: { A: "it's" }, workdir: "/srv" });
  const frozen = world.host.templates.frozen.size;
  plant(IMAGE_DIGEST_FILE, `${DIGEST}\n`);
  const specs: unknown[] = [];
  world.host.beforeStart = async () => {
    const { rows } = await sql<{
      target: unknown;
    }>`select target from builds where status = 'queued'`.execute(world.db);
    specs.push(...rows.map(({ target }) => target));
  };
  const begun = await push("web:42");
  expect(begun).toMatchObject({ name: "web", tag: "42", status: "queued", template_id: null, source: null });
  expect(begun.pushed).toEqual({ template_id: id, image: IMAGE, digest: null });
  await activateBuilder(world);
  const ended = await buildNow(world, begun.id);
  expect(ended).toMatchObject({ status: "ready", error: null, template_id: null, source: null });
  expect(ended.pushed).toEqual({ template_id: id, image: IMAGE, digest: DIGEST });
  expect(ended.steps.map(({ kind, status }) => [kind, status])).toEqual([
    ["pack", "done"],
    ["push", "done"],
  ]);
  expect(specs).toMatchObject([{ on: { kind: "image" } }]);
  const config = [...world.host.executions.all.values()].find(({ command }) => command.env["STEP_CONFIG"]);
  expect(JSON.parse(`${config?.command.env["STEP_CONFIG"]}}`)).toMatchObject({
    config: { Env: ["A=it's"], WorkingDir: "/srv" },
  });
  expect(world.host.templates.frozen.size).toBe(frozen);
  expect([...world.host.vms.keys()]).toEqual([]);
  expect(await heldMemoryMib(world)).toBe(0);
  const list = await world.call<TemplateList>("GET", "/v1/templates");
  expect(list.body.items.map((one) => one.id)).toContain(id);
  expect(list.body.items).toHaveLength(2);
});

test("only the step that pushes has the registry's credentials, those of no other registry, and no mirror but the registry itself", async () => {
  const { template_id: id } = await builtTemplate(world);
  const login = { username: "me", password: PASSWORD };
  for (const host of ["registry.example:5000", "m.example", "other.example"])
    await world.call("PUT", `/v1/registry-credentials/${host}`, { body: login });
  const { registries } = world.context as { registries: { mirrors: unknown } };
  const { mirrors } = registries;
  const itself = { registry: "lan.example", mirror: "lan.example", plain: true };
  registries.mirrors = [{ registry: "registry.example:5000", mirror: "m.example", plain: false }, itself];
  plant(IMAGE_DIGEST_FILE, DIGEST);
  const pushes = pushHangs();
  const { id: build } = await push(id);
  const active = activateBuilder(world);
  const execution = await pushes;
  registries.mirrors = mirrors;
  const auth = JSON.parse(world.host.files.get(REGISTRY_AUTH_FILE)?.content.toString() ?? "") as {
    auths: object;
  };
  expect(Object.keys(auth.auths)).toEqual(["registry.example:5000"]);
  expect(world.host.files.get(REGISTRY_MIRRORS_FILE)?.content.toString()).toBe(mirrorsFile([itself]));
  const of = (part: RegExp) => world.host.calls.findLastIndex((call) => part.test(call));
  expect(of(/^PUT .*\/file/)).toBeLessThan(of(/^PUT .*\/executions?/));
  execution.end();
  await active;
  expect(of(/^DELETE .*\/entry/)).toBeGreaterThan(of(/^PUT .*\/executions?/));
  expect(await buildNow(world, build)).toMatchObject({ status: "ready", pushed: { digest: DIGEST } });
  const { rows } = await sql<{ all: string }>`
    select (select string_agg(b::text, '') from builds b) || (select string_agg(s::text, '') from build_steps s)
      || coalesce((select string_agg(l::text, '') from build_log l), '') as all`.execute(world.db);
  for (const form of [PASSWORD, Buffer.from(`me:${PASSWORD}`).toString("base64")])
    expect(JSON.stringify([rows[0]?.all, world.log])).not.toContain(form);
});

test.each([
  ["registry_denied: the registry does not let the build push it", "registry_denied"],
  ["registry_unreachable: the registry cannot be reached", "registry_unreachable"],
  ["image_invalid: the registry does not take the image", "image_invalid"],
  ["image_not_found: the registry has no repository", "image_not_found"],
  ["disk_full: the builder's disk has no room", "disk_full"],
])("a push that fails says why: %s", async (says, code) => {
  const { template_id: id } = await builtTemplate(world);
  pushEnds(says);
  const { id: build } = await push(id);
  await activateBuilder(world);
  expect(await buildNow(world, build)).toMatchObject({
    status: "failed",
    error: { code, step: 1, exit_code: 125 },
    pushed: { image: IMAGE, digest: null },
  });
  expect([world.host.vms.size, await heldMemoryMib(world)]).toEqual([0, 0]);
  world.host.executions.imageStep = undefined;
  plant(IMAGE_DIGEST_FILE, DIGEST);
  const retried = await world.call<Build>("POST", `/v1/builds/${build}/retry`);
  expect(retried).toMatchObject({ status: 201, body: { pushed: { template_id: id, image: IMAGE } } });
  await activateBuilder(world);
  expect(await buildNow(world, retried.body.id)).toMatchObject({
    status: "ready",
    pushed: { digest: DIGEST },
  });
});

test("a microVM that tells no digest fails the push", async () => {
  const { template_id: id } = await builtTemplate(world);
  plant(IMAGE_DIGEST_FILE, "sha256:nothing");
  const { id: build } = await push(id);
  await activateBuilder(world);
  expect(await buildNow(world, build)).toMatchObject({
    status: "failed",
    error: { code: "build_step_failed" },
  });
});

test("a push is canceled at once, and one that takes too long is ended", async () => {
  const { template_id: id } = await builtTemplate(world);
  const hangs = pushHangs();
  const canceled = await push(id);
  const active = activateBuilder(world);
  await hangs;
  expect((await world.call("POST", `/v1/builds/${canceled.id}/cancel`)).status).toBe(200);
  await active;
  expect(await buildNow(world, canceled.id)).toMatchObject({ status: "canceled", pushed: { digest: null } });
  void pushHangs();
  const late = await push(id, { timeout: "2s" });
  await activateBuilder(world);
  expect(await buildNow(world, late.id)).toMatchObject({
    status: "failed",
    error: { code: "build_timed_out" },
  });
  expect([world.host.vms.size, await heldMemoryMib(world)]).toEqual([0, 0]);
});

test("what a control plane that is killed leaves of a push, the next one carries on with, and pushes once", async () => {
  const { template_id: id } = await builtTemplate(world);
  plant(IMAGE_DIGEST_FILE, DIGEST);
  const begun = world.host.executions.all.size;
  const control = new AbortController();
  const hangs = pushHangs();
  const { id: build } = await push(id);
  const active = activateBuilder(world, control.signal);
  const execution = await hangs;
  control.abort();
  await active;
  expect(await buildNow(world, build)).toMatchObject({ status: "building" });
  execution.end();
  await activateBuilder(world);
  expect(await buildNow(world, build)).toMatchObject({ status: "ready", pushed: { digest: DIGEST } });
  expect(world.host.executions.all.size - begun).toBe(2);
});

test("a microVM that ends while it pushes fails the push, and the next one works", async () => {
  const { template_id: id } = await builtTemplate(world);
  plant(IMAGE_DIGEST_FILE, DIGEST);
  const hangs = pushHangs();
  const { id: build } = await push(id);
  const active = activateBuilder(world);
  const execution = await hangs;
  world.host.end(build, "killed by signal 9");
  execution.breaks = new SkerryError("guest_failed", "The microVM has ended.");
  execution.end();
  await active;
  expect(await buildNow(world, build)).toMatchObject({
    status: "failed",
    // By whether its output was asked for before it ended.
    error: { code: expect.stringMatching(/^(guest_failed|vm_not_running)$/) as string },
  });
  world.host.executions.imageStep = undefined;
  const next = await push(id);
  await activateBuilder(world);
  expect(await untilBuild(world, next.id, "ready")).toMatchObject({ error: null });
});

test("a template that is deleted meanwhile does not end its push, and cannot be pushed any more", async () => {
  const { template_id: id } = await builtTemplate(world);
  plant(IMAGE_DIGEST_FILE, DIGEST);
  const hangs = pushHangs();
  const { id: build } = await push(id);
  const active = activateBuilder(world);
  const execution = await hangs;
  expect((await world.call("DELETE", `/v1/templates/${id}`)).status).toBe(204);
  execution.end();
  await active;
  expect(await buildNow(world, build)).toMatchObject({ status: "ready", pushed: { digest: DIGEST } });
  const again = await world.call("POST", `/v1/builds/${build}/retry`);
  expect(again).toMatchObject({ status: 404, body: { code: "template_not_found" } });
});

test.each([
  ["base", {}, 404, "template_not_found"],
  ["none", {}, 404, "template_not_found"],
  ["web", { image: "registry.example/--flag" }, 422, "invalid_build"],
  ["web", { image: `registry.example/app@${DIGEST}` }, 422, "invalid_build"],
  ["web", { image: undefined }, 400, "bad_request"],
  ["web", { push: { image: "a" } }, 400, "unknown_field"],
  ["web", { size: "none" }, 422, "unknown_size"],
  ["web", { timeout: "3h" }, 422, "timeout_too_long"],
])("a push of %s with %o is refused", async (template, body, status, code) => {
  await builtTemplate(world);
  const wanted = { image: IMAGE, ...body };
  const answer = await world.call("POST", `/v1/templates/${template}/push`, { body: wanted });
  expect(answer).toMatchObject({ status, body: { code } });
});

test("another organization's template is not found, and a request to build cannot name a push", async () => {
  const { template_id: id } = await builtTemplate(world);
  const members = new Members(world);
  const { path } = await members.newOrganization();
  const { secret: token } = await members.newMember("owner", path);
  const answer = await world.call("POST", `/v1/templates/${id}/push`, { token, body: { image: IMAGE } });
  expect(answer).toMatchObject({ status: 404, body: { code: "template_not_found" } });
  const body = { name: "web", push: { template_id: id, image: IMAGE } };
  expect((await world.call("POST", "/v1/templates", { body })).status).toBe(400);
});

test("pushes count among the builds that an organization may have at once", async () => {
  const { template_id: id } = await builtTemplate(world);
  const { orgId } = world;
  await world.call("PATCH", `/v1/orgs/${orgId}/limits`, { body: { quota_builds: 1 } });
  await push(id);
  const second = await world.call("POST", `/v1/templates/${id}/push`, { body: { image: IMAGE } });
  expect(second).toMatchObject({ body: { code: "quota_exceeded" } });
  await world.call("PATCH", `/v1/orgs/${orgId}/limits`, { body: { quota_builds: null } });
});
