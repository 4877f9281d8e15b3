// Templates of organizations: who finds them, by which names, and how they end.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import { SkerryError } from "@skerry/contract/errors";
import { newId } from "@skerry/contract/ids";
import type { Template, TemplateList } from "@skerry/contract/templates/template";
import { templatesToDelete } from "../src/templates/own-template-rows.ts";
import { activateBuilder, buildNow, builtTemplate, newBuild, untilBuild } from "./support/builds.ts";
import { Members } from "./support/members.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();

afterEach(async () => {
  world.host.templates.failures.clear();
  world.host.failures.clear();
  world.host.templates.before = async () => undefined;
  world.host.beforeStart = async () => undefined;
  await sql`delete from sandboxes`.execute(world.db);
  await sql`delete from machines`.execute(world.db);
  await sql`delete from builds`.execute(world.db);
  world.host.vms.clear();
});

test.each([
  ["the same tag", "1", "1"],
  ["another tag", "1", "2"],
])(
  "of two builds of one name at once, with %s, the one that is ready last has its tag and `latest`",
  async (_what, slowTag, quickTag) => {
    const slow = await newBuild(world, { name: "both", tag: slowTag, steps: [{ run: "forever" }] });
    const active = activateBuilder(world);
    // The row says so before the host has begun.
    const held = () =>
      [...world.host.executions.all.values()].findLast(
        ({ command, isOver }) => command.env["STEP_RUN"] === "forever" && !isOver,
      );
    await eventually(async () => held() !== undefined, "the first one is under way");
    const begun = await newBuild(world, { name: "both", tag: quickTag, steps: [{ run: "make" }] });
    const quick = await untilBuild(world, begun.id, "ready");
    const version = async (name: string) => (await world.call<Template>("GET", `/v1/templates/${name}`)).body;
    expect((await version("both")).id).toBe(quick.template_id);
    held()?.end();
    await active;
    const last = await buildNow(world, slow.id);
    expect(last).toMatchObject({ status: "ready", error: null });
    expect((await version("both:latest")).tags).toEqual([slowTag, "latest"]);
    expect((await version("both")).id).toBe(last.template_id);
    // The other one stays what it was, and has its own tag where that is another one.
    const other = await version(String(quick.template_id));
    expect([other.id, other.tags]).toEqual([quick.template_id, slowTag === quickTag ? [] : [quickTag]]);
  },
);

test("a version is found by its digest, whatever its tags are, by its own name and organization alone", async () => {
  const first = await builtTemplate(world, { name: "pinned", tag: "1", steps: [{ run: "make one" }] });
  const version = async (asked: string) =>
    (await world.call<Template>("GET", `/v1/templates/${encodeURIComponent(asked)}`)).body;
  const { digest } = await version(String(first.template_id));
  expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  const second = await builtTemplate(world, { name: "pinned", tag: "1", steps: [{ run: "make two" }] });
  const env = { steps: [{ run: "make two" }, { env: { MODE: "test" } }] };
  const third = await builtTemplate(world, { name: "pinned", tag: "1", ...env });
  const digests = await Promise.all(
    [first, second, third].map(async ({ template_id: id }) => (await version(String(id))).digest),
  );
  expect(new Set(digests).size).toBe(3);
  expect((await version(`pinned@${digest}`)).id).toBe(first.template_id);
  const { template } = await world.createSandbox({ template: `pinned@${digest}` });
  expect(template).toBe(first.template_id);
  const pushed = await world.call("POST", `/v1/templates/${encodeURIComponent(`pinned@${digest}`)}/push`, {
    body: { image: "registry.example/pinned:1", size: "shared-cpu-1x" },
  });
  // The first version has lost its tags to those after it.
  expect([pushed.status, pushed.body["name"], pushed.body["tag"]]).toEqual([201, "pinned", "latest"]);
  const text = `FROM pinned@${digest}\nRUN make\n`;
  const dockerfile = { name: "web", context: true, dockerfile: { text } };
  expect((await world.call("POST", "/v1/templates", { body: dockerfile })).body).toMatchObject({
    code: "invalid_build",
    remediation: expect.stringContaining("Give the version a tag") as string,
  });
  const steps = { name: "web", from: `pinned@${digest}`, steps: [{ run: "make" }] };
  expect((await world.call("POST", "/v1/templates", { body: steps })).status).toBe(201);
  const other = `other@${digest}`;
  for (const none of [other, `pinned@${digest}0`, "pinned@sha256:", "pinned@", `@${digest}`, "pinned:1@x"])
    expect(await version(none), none).toMatchObject({ code: "template_not_found" });
  const members = new Members(world);
  const { path } = await members.newOrganization();
  const token = (await members.newMember("owner", path)).secret;
  const asked = encodeURIComponent(`pinned@${digest}`);
  const theirs = await world.call("GET", `/v1/templates/${asked}`, { token });
  expect(theirs.body["code"]).toBe("template_not_found");
});

test("an organization has its own templates and builds, and another one learns nothing of them", async () => {
  const members = new Members(world);
  const { path } = await members.newOrganization();
  const token = (await members.newMember("owner", path)).secret;
  const build = await builtTemplate(world, { name: "mine" });
  const templateId = String(build.template_id);
  for (const name of ["mine", templateId]) {
    expect((await world.call("GET", `/v1/templates/${name}`, { token })).body["code"]).toBe(
      "template_not_found",
    );
    expect((await world.call("DELETE", `/v1/templates/${name}`, { token })).body["code"]).toBe(
      "template_not_found",
    );
    const created = await world.call("POST", "/v1/sandboxes", { token, body: { template: name } });
    expect([created.status, created.body["code"]]).toEqual([422, "unknown_template"]);
    const built = await world.call("POST", "/v1/templates", {
      token,
      body: { name: "theirs", from: name, steps: [{ run: "x" }] },
    });
    expect([built.status, built.body["code"]]).toEqual([422, "unknown_template"]);
  }
  for (const [method, rest] of [
    ["GET", ""],
    ["GET", "/logs"],
    ["POST", "/cancel"],
    ["POST", "/retry"],
    ["PUT", "/context"],
  ] as const) {
    const answer = await world.call(method, `/v1/builds/${build.id}${rest}`, {
      token,
      ...(method !== "GET" && { body: method === "PUT" ? "x" : {} }),
    });
    expect(answer.body["code"], `${method} ${rest}`).toBe("build_not_found");
  }
  expect(
    (await world.call<TemplateList>("GET", "/v1/templates", { token })).body.items.map(({ name }) => name),
  ).toEqual(["base"]);
  // The same name is another template there.
  const theirs = await world.call<Build>("POST", "/v1/templates", {
    token,
    body: { name: "mine", size: "shared-cpu-1x", steps: [{ run: "make" }] },
  });
  await activateBuilder(world);
  const seen = await world.call<Template>("GET", "/v1/templates/mine", { token });
  expect(seen.body.build_id).toBe(theirs.body.id);
  expect((await world.call<Template>("GET", "/v1/templates/mine")).body.id).toBe(templateId);
});

test("a template is built on another one, a tag is given to another version, and what is in use is not deleted", async () => {
  const first = String((await builtTemplate(world, { name: "app", tag: "1" })).template_id);
  const second = String((await builtTemplate(world, { name: "app", tag: "2", from: "app:1" })).template_id);
  expect(world.host.templates.kept.get(second)?.image.layers).toHaveLength(
    (world.host.templates.kept.get(first)?.image.layers.length ?? 0) + 1,
  );
  const latest = async () => (await world.call<Template>("GET", "/v1/templates/app")).body.id;
  expect(await latest()).toBe(second);
  const tagged = await world.call<Template>("PUT", "/v1/templates/app/tags/latest", {
    body: { template: "app:1" },
  });
  expect(tagged.body.tags).toEqual(["1", "latest"]);
  expect(await latest()).toBe(first);
  const sandbox = await world.createSandbox({ template: "app" });
  const refused = await world.call("DELETE", "/v1/templates/app");
  expect([refused.status, refused.body["code"]]).toEqual([409, "template_in_use"]);
  expect(refused.text).toContain(sandbox.id);
  await world.call("DELETE", `/v1/sandboxes/${sandbox.id}`);
  expect((await world.call("DELETE", "/v1/templates/app")).status).toBe(204);
  expect(world.host.templates.kept.has(first)).toBe(false);
  expect((await world.call("GET", "/v1/templates/app:1")).status).toBe(404);
  expect((await world.call("GET", "/v1/templates/app:2")).status).toBe(200);
});

test("FROM of a Dockerfile means the template of that name, and an image of a registry where there is none", async () => {
  await builtTemplate(world, { name: "named", tag: "1", steps: [{ env: { GREETING: "hello" } }] });
  const standsOn = async (text: string, more: Record<string, unknown> = {}): Promise<unknown> => {
    const { id } = await newBuild(world, { steps: undefined, context: true, dockerfile: { text, ...more } });
    const { rows } = await sql<{ on: unknown }>`
      select coalesce(request ->> 'from', target -> 'on' ->> 'kind') as on from builds where id = ${id}`.execute(
      world.db,
    );
    await world.call("POST", `/v1/builds/${id}/cancel`);
    return rows[0]?.on;
  };
  expect(await standsOn("FROM base\nRUN x\n")).toBe("base");
  expect(await standsOn("FROM named:1\nRUN x\n")).toBe("named:1");
  expect(await standsOn("FROM named:2\nRUN x\n")).toBe("empty");
  expect(await standsOn("FROM registry.example/app\nRUN x\n")).toBe("empty");
  expect(await standsOn("FROM base AS build\nRUN x\nFROM named\nCOPY --from=build /a /b\n")).toBe("named");
  expect(await standsOn("ARG ON=base\nFROM $ON\n", { args: { ON: "named" } })).toBe("named");
});

test("a host that does not answer loses a deleted template when it answers again", async () => {
  const id = String((await builtTemplate(world, { name: "gone" })).template_id);
  world.host.templates.failures.set("delete", new SkerryError("host_unavailable", "away"));
  expect((await world.call("DELETE", "/v1/templates/gone")).status).toBe(204);
  expect((await world.call("GET", "/v1/templates/gone")).status).toBe(404);
  expect(world.host.templates.kept.has(id)).toBe(true);
  world.host.templates.failures.clear();
  await activateBuilder(world);
  expect(world.host.templates.kept.has(id)).toBe(false);
});

test("a version has at most 100 tags, also where they come at once, and one that it has can be given again", async () => {
  const id = String((await builtTemplate(world, { name: "tagged", tag: "1" })).template_id);
  await sql`
    insert into template_tags (org_id, name, tag, template_id)
    select ${world.orgId}, 'tagged', 't' || n, ${id} from generate_series(1, 96) n`.execute(world.db);
  const tag = (name: string) =>
    world.call("PUT", `/v1/templates/tagged/tags/${name}`, { body: { template: "tagged:1" } });
  const answers = await Promise.all(["a", "b", "c", "d"].map(tag));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
  const refused = answers.find(({ status }) => status === 422);
  expect(answers.filter(({ status }) => status === 422)).toHaveLength(2);
  expect(refused?.body).toMatchObject({ code: "too_many_tags", context: { limit: 100 } });
  const shown = await world.call<Template>("GET", "/v1/templates/tagged");
  expect(shown.body.tags).toHaveLength(100);
  expect((await tag("t1")).status).toBe(200);
});

/** A deleted template that a host still has. */
async function leftTemplate(name: string): Promise<string> {
  const id = String((await builtTemplate(world, { name })).template_id);
  world.host.templates.failures.set("delete", new SkerryError("host_unavailable", "away"));
  expect((await world.call("DELETE", `/v1/templates/${name}`)).status).toBe(204);
  world.host.templates.failures.clear();
  return id;
}

test("hosts lose deleted templates also while a build is under way, and a request removes nothing but its own", async () => {
  const left = await leftTemplate("left");
  const own = String((await builtTemplate(world, { name: "own" })).template_id);
  // The turn that built the last one has removed the first: it is left once more.
  const again = await leftTemplate("again");
  expect(world.host.templates.kept.has(left)).toBe(false);
  expect((await world.call("DELETE", "/v1/templates/own")).status).toBe(204);
  expect(world.host.templates.kept.has(own)).toBe(false);
  expect(world.host.templates.kept.has(again)).toBe(true);
  const { id } = await newBuild(world, { steps: [{ run: "forever" }] });
  const active = activateBuilder(world);
  await untilBuild(world, id, "building");
  await eventually(() => !world.host.templates.kept.has(again), "the host has lost it");
  expect((await buildNow(world, id)).status).toBe("building");
  await world.call("POST", `/v1/builds/${id}/cancel`);
  await active;
});

test("templates of a host that is offline do not keep those of others waiting, and go with a host that is removed", async () => {
  const offline = await leftTemplate("offline");
  const gone = newId("host");
  await sql`
    insert into hosts select (jsonb_populate_record(hosts, jsonb_build_object(
      'id', ${gone}::text, 'name', 'gone', 'address', '/nowhere', 'status', 'offline'))).* from hosts limit 1`.execute(
    world.db,
  );
  await sql`update template_hosts set host_id = ${gone} where template_id = ${offline}`.execute(world.db);
  const waiting = async () => (await templatesToDelete(world.db, { limit: 32 })).map(({ id }) => id);
  expect(await waiting()).toEqual([]);
  await sql`update hosts set removed_at = now() where id = ${gone}`.execute(world.db);
  expect(await waiting()).toEqual([offline]);
  await activateBuilder(world);
  const { rows } = await sql`select status from templates where id = ${offline}`.execute(world.db);
  expect(rows).toEqual([{ status: "deleted" }]);
});

test.each([
  [{ name: "base" }, 409, "name_taken"],
  [{ name: "ci" }, 409, "name_taken"],
  [{ name: "node", tag: "22" }, 409, "name_taken"],
  [{ name: "node-22" }, 409, "name_taken"],
  [{ name: "skerry-before" }, 409, "name_taken"],
  [{ name: "Web" }, 400, "bad_request"],
  [{ name: "web", from: "nothing", steps: [{ run: "x" }] }, 422, "unknown_template"],
  [{ name: "web", steps: [{ copy: { from: ".", to: "/app" } }] }, 400, "bad_request"],
  [{ name: "web", dockerfile: {}, image: "alpine", context: true }, 422, "invalid_build"],
  [{ name: "web", context: true }, 400, "bad_request"],
  [{ name: "web", size: "huge", steps: [] }, 422, "unknown_size"],
  [{ name: "web", sizes: ["shared-cpu-1x", "shared-cpu-8x"], steps: [] }, 422, "invalid_build"],
  [{ name: "web", size: "shared-cpu-8x", sizes: ["performance-2x"], steps: [] }, 422, "invalid_build"],
  [{ name: "web", steps: [], timeout: "3h" }, 422, "timeout_too_long"],
  [{ name: "web", steps: [], start: { command: "x", ready: { port: 1, file: "/x" } } }, 400, "bad_request"],
] as const)("%o is refused before anything is built", async (body, status, code) => {
  const answer = await world.call("POST", "/v1/templates", { body });
  expect([answer.status, answer.body["code"]]).toEqual([status, code]);
  const { rows } = await sql`select 1 from builds`.execute(world.db);
  expect(rows).toEqual([]);
});

test("a sandbox cannot be made of the builder", async () => {
  const answer = await world.call("POST", "/v1/sandboxes", { body: { template: "builder" } });
  expect([answer.status, answer.body["code"]]).toEqual([422, "unknown_template"]);
});
