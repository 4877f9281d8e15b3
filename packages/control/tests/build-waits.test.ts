// Builds that cannot go on for now, and what they say of it.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import type { BuildLog } from "@skerry/contract/builds/build-log";
import { SkerryError } from "@skerry/contract/errors";
import type { Template } from "@skerry/contract/templates/template";
import { activateBuilder, buildNow, builtTemplate, forgetBuildsAndVms, newBuild } from "./support/builds.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();

afterEach(() => forgetBuildsAndVms(world));

test("a build that waits for an image says for which, since when and what happened to it, and its timeout begins with its first step", async () => {
  const failedAt = new Date(Date.now() - 125_000).toISOString();
  const refusal = new SkerryError("template_not_ready", "Not yet.", {
    context: { template: "node", failure: "no mirror answers", failed_at: failedAt, next_attempt: failedAt },
  });
  world.host.failures.set("start", refusal);
  const { id } = await newBuild(world, { steps: [{ run: "make" }], timeout: "5m" });
  const report = await activateBuilder(world);
  expect([report.examined, report.failed]).toEqual([1, 0]);
  const waiting = (await world.call<Build>("GET", `/v1/builds/${id}`)).body;
  const reason = `waits for template "node", which failed 2 min ago: no mirror answers; tried again at ${failedAt.slice(11, 19)} UTC`;
  expect(waiting).toMatchObject({
    status: "queued",
    ends_by: null,
    waits_for: { kind: "template", id: null, name: "node", reason },
  });
  // It waits for longer than its timeout.
  await sql`update builds set created_at = now() - interval '1 hour', retry_at = now() where id = ${id}`.execute(
    world.db,
  );
  expect((await activateBuilder(world)).failed).toBe(0);
  const later = (await world.call<Build>("GET", `/v1/builds/${id}`)).body;
  expect(later.waits_for?.since).toBe(waiting.waits_for?.since);
  // The log says it once.
  const told = async () =>
    (await world.call<BuildLog>("GET", `/v1/builds/${id}/logs`)).body.lines.filter(({ text }) =>
      text.includes("waits for"),
    );
  expect(await told()).toMatchObject([{ step: null, text: `--- ${reason}` }]);
  world.host.failures.delete("start");
  await sql`update builds set retry_at = now() where id = ${id}`.execute(world.db);
  await activateBuilder(world);
  const built = await buildNow(world, id);
  expect(built).toMatchObject({ status: "ready", waits_for: null });
  expect(Date.parse(String(built.ends_by))).toBeGreaterThan(Date.now() + 200_000);
});

test("the time of a context begins when its microVM is there to take it, however long the image took", async () => {
  const refusal = new SkerryError("template_not_ready", "Not yet.", {
    context: { template: "builder", progress: "unpacking 3 of 69" },
  });
  world.host.failures.set("start", refusal);
  const { id } = await newBuild(world, { context: true, steps: [{ copy: { from: ".", to: "/app" } }] });
  await activateBuilder(world);
  await sql`update builds set created_at = now() - interval '1 hour' where id = ${id}`.execute(world.db);
  const upload = world.call<Build>("PUT", `/v1/builds/${id}/context`, { body: "an archive" });
  const waiting = await buildNow(world, id);
  expect(waiting).toMatchObject({
    status: "queued",
    waits_for: {
      kind: "template",
      reason: "waits for the image in which builds run, which its host makes (unpacking 3 of 69)",
    },
  });
  world.host.failures.delete("start");
  await sql`update builds set retry_at = now() where id = ${id}`.execute(world.db);
  await activateBuilder(world);
  expect((await upload).status).toBe(200);
  await activateBuilder(world);
  expect((await buildNow(world, id)).status).toBe("ready");
  // One that waited for its context from the beginning still ends.
  const late = await newBuild(world, {
    name: "late",
    context: true,
    steps: [{ copy: { from: ".", to: "/app" } }],
  });
  await activateBuilder(world);
  const began = new Date(Date.now() - 601_000).toISOString();
  await sql`
    update builds set waits_for = jsonb_set(waits_for, '{since}', to_jsonb(${began}::text)), retry_at = now()
    where id = ${late.id}`.execute(world.db);
  await activateBuilder(world);
  expect(await buildNow(world, late.id)).toMatchObject({
    status: "failed",
    error: { code: "context_missing" },
  });
});

test("a built-in template whose image failed says why and when it is tried again, and hosts are asked to make it at once", async () => {
  const failure = {
    reason: "mmdebstrap ended with 25: E: no mirror answers",
    last_lines: ["E: no mirror answers"],
    failed_at: new Date(Date.now() - 125_000).toISOString(),
    next_attempt: "2026-11-20T16:43:08.123Z",
  };
  const told = JSON.stringify([{ ...world.host.template, status: "failed", failure }]);
  await sql`update hosts set templates = ${told}::jsonb`.execute(world.db);
  const { body } = await world.call<Template>("GET", `/v1/templates/${world.host.template.name}`);
  expect(body).toMatchObject({
    status: "failed",
    failure,
    waits_for: {
      kind: "attempt",
      since: failure.failed_at,
      reason: `failed 2 min ago: ${failure.reason}; tried again at 16:43:08 UTC`,
    },
  });
  const path = `/v1/templates/${world.host.template.name}/prepare`;
  expect((await world.call("POST", path)).status).toBe(200);
  expect(world.host.templates.prepared).toEqual([world.host.template.name]);
  expect((await world.call("POST", "/v1/templates/none/prepare")).status).toBe(404);
});

test("while a start command is waited for the log says for what, and for how long", async () => {
  const line = "5 s: boots, and waits until its start command listens to port 80, for 300 s at most";
  const isTold = async () => {
    const { rows } = await sql`select 1 from build_log where text = ${line}`.execute(world.db);
    return rows.length === 1;
  };
  world.host.templates.before = async (call) => {
    if (call === "freeze") await eventually(isTold, "the wait is told while it goes on");
  };
  const build = await builtTemplate(world, { start: { command: "serve", ready: { port: 80 } } });
  world.host.templates.before = async () => undefined;
  const { body } = await world.call<BuildLog>("GET", `/v1/builds/${build.id}/logs`);
  expect(body.lines.at(-1)?.text).toMatch(/^frozen for /);
});
