// Templates by E2B's clients: what they build is a build of ours, and its end is told in their words.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Build } from "@skerry/contract/builds/build";
import { Sandbox, Template } from "e2b-2.51";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { idOfUuid, uuidOf } from "../src/e2b/uuid-ids.ts";
import { newId } from "@skerry/contract/ids";
import { createE2bSandbox, e2bOptions, nativeId } from "./support/e2b.ts";
import { activateBuilder, builtTemplate, untilBuild } from "./support/builds.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "skerry-e2b-"));
  await writeFile(join(folder, "a.txt"), "hello");
});
afterAll(() => rm(folder, { recursive: true }));

const options = () => ({ ...e2bOptions(world), logsRefreshFrequency: 50 });

/** The result, with the service at work until it is there. */
async function whileBuilding<Result>(work: Promise<Result>): Promise<Result> {
  let isOver = false;
  const end = () => void (isOver = true);
  work.then(end, end);
  while (!isOver) {
    await activateBuilder(world);
    await sleep(20);
  }
  return work;
}

test("ids are UUIDs to the clients, and the same ids again", () => {
  for (let count = 0; count < 100; count++) {
    const id = newId("build");
    expect(idOfUuid("build", uuidOf(id))).toBe(id);
    expect(uuidOf(id)).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  }
  expect(idOfUuid("build", "no id")).toBe("no id");
});

test("a template is built, found by its name and tags, and deleted", async () => {
  const name = "built";
  const template = Template().fromBaseImage().runCmd("echo hello").setEnvs({ A: "1" });
  const info = await whileBuilding(
    Template.build(template, `${name}:v1`, { ...options(), tags: ["stable"], memoryMB: 1024 }),
  );
  expect([info.templateId, info.tags]).toEqual([name, ["v1", "stable"]]);
  expect((await Template.getBuildStatus(info, options())).status).toBe("ready");
  expect(await Template.exists(name, options())).toBe(true);
  expect(await Template.exists("nothing", options())).toBe(false);
  const assigned = await Template.assignTags(`${name}:v1`, ["production", `${name}:next`], options());
  expect(assigned).toEqual({ buildId: info.buildId, tags: ["production", "next"] });
  for (const tag of [":wrong", `${name}:`])
    await expect(Template.assignTags(`${name}:v1`, tag, options())).rejects.toThrow("is no tag");
  await Template.removeTags(name, ["next", "never"], options());
  const tags = (await Template.getTags(name, options())).map(({ tag }) => tag);
  expect(tags.toSorted()).toEqual(["latest", "production", "stable", "v1"]);
  const list = await world.call<{ templateID: string; buildCount: number }[]>("GET", "/e2b/templates");
  expect(list.body.map(({ templateID, buildCount }) => [templateID, buildCount])).toEqual([[name, 1]]);
  const detail = await world.call<{ builds: unknown[] }>("GET", `/e2b/templates/${name}`);
  const asked = { memoryMB: 1024, cpuCount: expect.any(Number) as number };
  expect(detail.body).toMatchObject({ ...asked, builds: [{ buildID: info.buildId, ...asked }] });
  expect(detail.body.builds).toHaveLength(1);
  expect((await world.call("DELETE", `/e2b/templates/${name}`)).status).toBe(204);
  expect((await world.call("DELETE", `/e2b/templates/${name}`)).status).toBe(404);
});

test("templates are listed by their names, page by page", async () => {
  for (const name of ["page-b", "page-a", "page-c"])
    await builtTemplate(world, { name, tag: "v1", steps: [{ run: `make ${name}` }] });
  const page = async (query: string) => {
    const answer = await fetch(`${world.url}/e2b/v2/templates?${query}`, {
      headers: { "x-api-key": world.token },
    });
    const found = (await answer.json()) as { templateID: string }[];
    return {
      status: answer.status,
      names: answer.ok ? found.map(({ templateID }) => templateID) : [],
      next: answer.headers.get("x-next-token"),
    };
  };
  const first = await page("limit=2");
  expect([first.names, first.next === null]).toEqual([["page-a", "page-b"], false]);
  const rest = await page(`limit=2&nextToken=${first.next ?? ""}`);
  expect([rest.names, rest.next]).toEqual([["page-c"], null]);
  expect((await page("limit=0")).status).toBe(400);
  expect((await page("order=asc")).status).toBe(400);
  expect((await page(`teamID=${uuidOf(newId("organization"))}`)).status).toBe(404);
  for (const name of ["page-a", "page-b", "page-c"]) await world.call("DELETE", `/e2b/templates/${name}`);
});

test("all versions of a template are deleted, or none where one of them is in use", async () => {
  const builds = async () =>
    (await world.call<{ builds: unknown[] }>("GET", "/e2b/templates/versions")).body.builds;
  for (const tag of ["v1", "v2"])
    await builtTemplate(world, { name: "versions", tag, steps: [{ run: `make ${tag}` }] });
  const { sandboxID } = await createE2bSandbox(world, { templateID: "versions:v1" });
  // Both versions are the one template, by whose id sandboxes are found.
  const read = await world.call(`GET`, `/e2b/sandboxes/${sandboxID}`);
  expect(read.body).toMatchObject({ templateID: "versions", alias: "versions" });
  const found = async (template: string) =>
    (await world.call<unknown[]>("GET", `/e2b/v2/sandboxes?template=${template}`)).body;
  expect(await found("versions")).toMatchObject([{ sandboxID, templateID: "versions" }]);
  expect(await found("none")).toEqual([]);
  expect((await world.call("GET", "/e2b/v2/sandboxes?template=%00")).status).toBe(400);
  expect((await world.call("DELETE", "/e2b/templates/versions")).status).toBe(409);
  expect(await builds()).toHaveLength(2);
  await world.call("DELETE", `/e2b/sandboxes/${sandboxID}`);
  expect((await world.call("DELETE", "/e2b/templates/versions")).status).toBe(204);
});

test("a name alone means the version with the tag default, and where there is none the latest", async () => {
  const steps = [{ run: "make" }];
  const shown = async (asked: string) =>
    (await world.call<{ id: string }>("GET", `/v1/templates/${asked}`)).body.id;
  const used = async () => {
    const { sandboxID } = await createE2bSandbox(world, { templateID: "bare" });
    const { body } = await world.call<{ template: string }>("GET", `/v1/sandboxes/${nativeId(sandboxID)}`);
    await world.call("DELETE", `/e2b/sandboxes/${sandboxID}`);
    return body.template;
  };
  await builtTemplate(world, { name: "bare", tag: "first", steps });
  expect(await used()).toBe(await shown("bare:latest"));
  const first = await shown("bare:first");
  await Template.assignTags("bare:first", "default", options());
  await builtTemplate(world, { name: "bare", tag: "second", steps: [...steps, { run: "make more" }] });
  expect(await shown("bare:latest")).not.toBe(first);
  expect(await used()).toBe(first);
  await whileBuilding(Template.build(Template().fromTemplate("bare"), "on-bare", options()));
  const { rows } = await sql<{ from: string }>`
    select request->>'from' as from from builds where name = 'on-bare'`.execute(world.db);
  expect(rows).toEqual([{ from: "bare:default" }]);
  await Template.assignTags("bare", "again", options());
  expect(await shown("bare:again")).toBe(first);
});

test("commands of a sandbox begin as the user and in the folder that its template ended with", async () => {
  const guest = Template().fromBaseImage().setUser("guest");
  await whileBuilding(Template.build(guest, "of-guest", options()));
  const placed = Template().fromTemplate("of-guest").setWorkdir("/srv/app");
  await whileBuilding(Template.build(placed, "placed", options()));
  const startIn = async (name: string) => {
    const sandbox = await Sandbox.create(name, e2bOptions(world));
    world.host.executions.users.add("guest");
    await sandbox.commands.run("print this");
    const { user, workdir } = world.host.executions.last.command;
    return [user, workdir];
  };
  // Without a folder it begins in the home of the user.
  expect(await startIn("of-guest")).toEqual(["guest", null]);
  expect(await startIn("placed")).toEqual(["guest", "/srv/app"]);
});

test("files are sent once, by a URL that takes nothing else", async () => {
  const template = Template({ fileContextPath: folder }).fromBaseImage().copy("a.txt", "/srv/a.txt");
  const logs: string[] = [];
  const onBuildLogs = ({ message }: { message: string }) => void logs.push(message);
  await whileBuilding(Template.build(template, "copied", { ...options(), onBuildLogs }));
  await whileBuilding(Template.build(template, "copied", { ...options(), onBuildLogs }));
  expect(logs.filter((line) => /Uploaded|Skipping/.test(line))).toEqual([
    "Uploaded 'a.txt'",
    "Skipping upload of 'a.txt', already cached",
  ]);
  const hash = "ab".repeat(32);
  const link = await world.call<{ present: boolean; url: string }>(
    "GET",
    `/e2b/templates/copied/files/${hash}`,
  );
  expect([link.status, link.body.present]).toEqual([201, false]);
  const other = new URL(link.body.url.replace(hash, "cd".repeat(32)));
  const expired = new URL(link.body.url);
  expired.searchParams.set("expires", "9999999999");
  for (const url of [other, expired, `${world.url}/e2b/archives/${hash}`])
    expect((await fetch(url, { method: "PUT", body: "x" })).status).toBe(401);
  expect((await fetch(link.body.url, { method: "PUT", body: "x" })).status).toBe(200);
});

describe("the start of a build", () => {
  const begin = async (name: string) =>
    (await world.call<{ buildID: string }>("POST", "/e2b/v3/templates", { body: { name } })).body.buildID;
  const start = async (name: string, id: string, body: object) =>
    (await world.call("POST", `/e2b/v2/templates/${name}/builds/${id}`, { body })).status;

  test("waits for no microVM, and what then goes wrong with its files ends the build", async () => {
    const id = await begin("begun");
    const copy = { type: "COPY", args: ["a", "/a"], filesHash: "12".repeat(32) };
    // No service is at work that would start the microVM.
    expect(await start("begun", id, { steps: [copy] })).toBe(202);
    const progress = async () =>
      (
        await world.call<{ status: string; reason?: { message: string } }>(
          "GET",
          `/e2b/templates/begun/builds/${id}/status`,
        )
      ).body;
    expect((await progress()).status).toBe("building");
    const over = eventually(async () => (await progress()).status === "error", "the build has ended");
    await whileBuilding(over);
    expect((await progress()).reason?.message).toBe("The files of a step were not sent.");
    await whileBuilding(untilBuild(world, idOfUuid("build", id), "canceled"));
  });

  test("that finds no room can be asked for again", async () => {
    const id = await begin("roomless");
    const body = { steps: [{ type: "RUN", args: ["true"] }] };
    await sql`update hosts set status = 'offline'`.execute(world.db);
    expect(await start("roomless", id, body)).toBe(503);
    await sql`update hosts set status = 'online'`.execute(world.db);
    expect(await start("roomless", id, body)).toBe(202);
    expect(await start("roomless", id, body)).toBe(409);
  });
});

test("what is wrong with a template is told as the end of its build, with its instruction", async () => {
  const failing = (template: Parameters<typeof Template.build>[0]) =>
    Template.build(template, "failing", options()).catch((error: unknown) => error);
  expect(await failing(Template().fromTemplate("nowhere"))).toMatchObject({ name: "BuildError" });
  const info = await Template.buildInBackground(
    Template().fromBaseImage().setUser("; exit 1"),
    "failing",
    options(),
  );
  const { status, reason } = await Template.getBuildStatus(info, options());
  expect([status, reason?.step]).toEqual(["error", "1"]);
  const login = { username: "u", password: "a password that is not kept" };
  const logged = Template().fromImage("registry.test/app:1", login);
  const image = await Template.buildInBackground(logged, "failing", options());
  expect((await Template.getBuildStatus(image, options())).reason?.step).toBe("base");
  const { rows } = await sql<{ kept: boolean }>`
    select bool_or(body::text like '%is not kept%') as kept from e2b_builds`.execute(world.db);
  expect(rows).toEqual([{ kept: false }]);
});

test.each([
  ["The step exited with 7.", "The step exited with 7."],
  ["The template has no user root123.", "command failed: unauthenticated: invalid username: 'root123'"],
])("a command that has failed is told as it was asked for: %s", async (why, told) => {
  const template = Template().fromBaseImage().runCmd("make it");
  const info = await whileBuilding(Template.build(template, "broken", options()));
  const id = idOfUuid("build", info.buildId);
  const { body } = await world.call<Build>("GET", `/v1/builds/${id}`);
  const step = body.steps.findIndex(({ name }) => name.includes("make it"));
  const message = `"${body.steps[step]?.name ?? ""}": ${why}`;
  const error = { code: "build_step_failed", message, step, exit_code: 7, last_lines: ["no rule"] };
  await sql`update builds set status = 'failed', error = ${JSON.stringify(error)} where id = ${id}`.execute(
    world.db,
  );
  const { reason } = await Template.getBuildStatus(info, options());
  expect(reason).toMatchObject({
    message: `failed to run command 'make it': ${told}\nno rule`,
    step: "1",
  });
});

test("a build is of its template and of its organization", async () => {
  const info = await Template.buildInBackground(Template().fromTemplate("nowhere"), "mine", options());
  const path = (name: string) => `/e2b/templates/${name}/builds/${info.buildId}/status`;
  expect((await world.call("GET", path("mine"))).status).toBe(200);
  expect((await world.call("GET", path("other"))).status).toBe(404);
  for (const name of ["base", "UPPER", ""])
    expect((await world.call("POST", "/e2b/v3/templates", { body: { name } })).status).toBeGreaterThanOrEqual(
      400,
    );
});
