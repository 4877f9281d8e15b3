// Builds of templates, with a host that pretends to build.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import { CONTEXT_FOLDER } from "@skerry/build-plan/scripts/builder-scripts";
import type { BuildLog } from "@skerry/contract/builds/build-log";
import { SkerryError } from "@skerry/contract/errors";
import type { Template, TemplateList } from "@skerry/contract/templates/template";
import { vmReconciler } from "../src/platform/vm-reconciler.ts";
import {
  activateBuilder,
  buildNow,
  builtTemplate,
  forgetBuildsAndVms,
  heldMemoryMib,
  newBuild,
  untilBuild,
} from "./support/builds.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();

afterEach(() => forgetBuildsAndVms(world));

test("steps are carried out in a microVM, and what they leave is a template that sandboxes and machines are made of", async () => {
  const build = await builtTemplate(world, { tag: "42", steps: [{ run: "make" }, { env: { A: "1" } }] });
  expect(build).toMatchObject({
    name: "web",
    tag: "42",
    status: "ready",
    error: null,
    waits_for_context: false,
  });
  expect(build.steps.map(({ kind, status }) => [kind, status])).toEqual([
    ["run", "done"],
    ["seal", "done"],
  ]);
  // Nothing of the build is left on its host, and it holds nothing.
  expect([...world.host.vms.keys()]).toEqual([]);
  expect(await heldMemoryMib(world)).toBe(0);
  const id = String(build.template_id);
  expect(world.host.templates.frozen).toContain(`${id} shared-cpu-1x`);
  expect(world.host.templates.kept.get(id)?.env).toEqual({ A: "1" });
  for (const name of ["web", "web:latest", "web:42", id]) {
    const shown = await world.call<Template>("GET", `/v1/templates/${name}`);
    expect(shown.body).toMatchObject({
      id,
      name: "web",
      status: "ready",
      tags: ["42", "latest"],
      build_id: build.id,
    });
    expect((await world.createSandbox({ template: name })).template).toBe(id);
    expect((await world.createMachine({ template: name })).template).toBe(id);
  }
  const list = await world.call<TemplateList>("GET", "/v1/templates");
  expect(list.body.items.map((one) => one.name)).toEqual(["base", "web"]);
});

test("the log has each line with its step and its time, and can be followed to the end", async () => {
  const { id } = await builtTemplate(world, { steps: [{ run: "make" }] });
  const { body } = await world.call<BuildLog>("GET", `/v1/builds/${id}/logs`);
  expect(body.more).toBe(false);
  expect(body.lines.map(({ line }) => line)).toEqual(body.lines.map((_, index) => index + 1));
  expect(body.lines.filter(({ step }) => step === 0).map(({ text }) => text)).toEqual([
    expect.stringContaining("make"),
    "makewarned",
  ]);
  const after = await world.call<BuildLog>("GET", `/v1/builds/${id}/logs?after=1`);
  expect(after.body.lines).toEqual(body.lines.slice(1));
  const followed = await world.call("GET", `/v1/builds/${id}/logs?follow=true`);
  expect(followed.text.match(/^event: line$/gm)).toHaveLength(body.lines.length);
  expect(followed.text).toMatch(/event: end\ndata: \{\}\n\n$/);
});

test("the log says for what sizes a template is frozen, and what that waits for", async () => {
  const { id } = await builtTemplate(world, {
    start: { command: "serve", ready: { port: 80 } },
    size: "shared-cpu-2x",
    sizes: ["shared-cpu-1x", "shared-cpu-2x"],
  });
  const { body } = await world.call<BuildLog>("GET", `/v1/builds/${id}/logs`);
  expect(body.lines.filter(({ step }) => step === null).map(({ text }) => text)).toEqual([
    "--- start it, wait until it is ready, and freeze it for shared-cpu-1x, shared-cpu-2x",
    expect.stringMatching(/^frozen for shared-cpu-1x in \d+\.\d s$/),
    expect.stringMatching(/^frozen for shared-cpu-2x in \d+\.\d s$/),
  ]);
  const plain = await builtTemplate(world, { name: "plain" });
  const log = await world.call<BuildLog>("GET", `/v1/builds/${plain.id}/logs`);
  const first = log.body.lines.find(({ step }) => step === null);
  expect(first?.text).toBe("--- freeze it for shared-cpu-1x");
});

test("a log that is too long is cut off, and says so once", async () => {
  const { id } = await builtTemplate(world, { steps: [{ run: "flood 9000000" }] });
  const { rows } = await sql<{ bytes: number; last: string; lines: number }>`
    select sum(octet_length(text))::integer as bytes, (array_agg(text order by line desc))[1] as last, count(*)::integer as lines
    from build_log where build_id = ${id}`.execute(world.db);
  expect(rows[0]?.bytes).toBeLessThanOrEqual(8 * 1024 * 1024);
  expect(rows[0]?.bytes).toBeGreaterThan(7 * 1024 * 1024);
  expect(rows[0]?.last).toMatch(/cut off/);
});

test("a log of empty lines is cut off before it is many rows, and what comes after that only moves the position on", async () => {
  const { id } = await newBuild(world, { steps: [{ run: "forever" }] });
  const active = activateBuilder(world);
  await untilBuild(world, id, "building");
  await eventually(async () => (await buildNow(world, id)).steps[0]?.status === "running", "its step runs");
  const execution = world.host.executions.last;
  const lines = async () => {
    const { rows } = await sql<{ lines: number; position: number }>`
      select log_lines::integer as lines, position::integer as position
      from builds join build_steps on build_id = id and index = 0 where id = ${id}`.execute(world.db);
    return rows[0] ?? { lines: 0, position: 0 };
  };
  const ROWS_MAX = (8 * 1024 * 1024) / 100;
  execution.write("\n".repeat(60_000));
  await eventually(async () => (await lines()).lines > 60_000, "the first lines are in the log");
  execution.write("\n".repeat(60_000));
  await eventually(async () => (await lines()).position === 120_000, "the log is full");
  const full = (await lines()).lines;
  expect(full).toBeGreaterThan(60_000);
  expect(full).toBeLessThanOrEqual(ROWS_MAX);
  execution.write("x\n".repeat(60_000));
  await eventually(async () => (await lines()).position === 240_000, "the position moves on");
  execution.end();
  await active;
  expect((await lines()).lines).toBe(full);
  expect(await buildNow(world, id)).toMatchObject({ status: "ready" });
});

test("a step that fails ends the build, with its exit code and its last lines, and leaves nothing", async () => {
  const { id } = await newBuild(world, { steps: [{ run: "fail 7" }, { run: "make" }] });
  await activateBuilder(world);
  const build = await buildNow(world, id);
  expect(build).toMatchObject({ status: "failed", template_id: null });
  expect(build.error).toMatchObject({ code: "build_step_failed", step: 0, exit_code: 7 });
  expect(build.error?.last_lines).toContain("it is broken");
  expect(build.steps.map(({ status }) => status)).toEqual(["failed", "waiting", "waiting"]);
  expect([...world.host.vms.keys()]).toEqual([]);
  expect(await heldMemoryMib(world)).toBe(0);
  const retried = await world.call<Build>("POST", `/v1/builds/${id}/retry`);
  expect(retried.status).toBe(201);
  expect(retried.body).toMatchObject({ name: "web", status: "queued", error: null });
  expect(retried.body.id).not.toBe(id);
});

test.each([
  ["overlong", "step_timed_out"],
  ["oom", "build_out_of_memory"],
])("a step that goes beyond its bound ends the build, and says which: %s", async (run, code) => {
  const { id } = await newBuild(world, { steps: [{ run }], step_timeout: "1s" });
  await activateBuilder(world);
  expect(await buildNow(world, id)).toMatchObject({ status: "failed", error: { code, step: 0 } });
  expect([...world.host.vms.keys()]).toEqual([]);
  expect(await heldMemoryMib(world)).toBe(0);
});

test("a step that prints without end is read no faster than its log needs", async () => {
  const { id } = await newBuild(world, { steps: [{ run: "forever" }] });
  const active = activateBuilder(world);
  await eventually(async () => (await buildNow(world, id)).steps[0]?.status === "running", "its step runs");
  const execution = world.host.executions.last;
  const beganMs = performance.now();
  const MIB = 1024 ** 2;
  for (let mib = 0; mib < 12; mib += 1) execution.write(Buffer.alloc(MIB, "\n"));
  execution.end();
  await active;
  expect(await buildNow(world, id)).toMatchObject({ status: "ready" });
  // A second's worth at once, and the rest at 4 MiB/s.
  expect(performance.now() - beganMs).toBeGreaterThan(1_900);
});

test("a build waits for its context, and begins when it has come", async () => {
  const { id } = await newBuild(world, { context: true, steps: [{ copy: { from: ".", to: "/app" } }] });
  await activateBuilder(world);
  expect(await buildNow(world, id)).toMatchObject({ status: "queued", waits_for_context: true });
  // A link of an upload that broke off would lead the files of the next one anywhere.
  const left = { size: 0, mode: 0o777, sha256: "", content: Buffer.alloc(0) };
  world.host.files.set(`${CONTEXT_FOLDER}/`, left);
  world.host.calls.length = 0;
  const sent = await world.call<Build>("PUT", `/v1/builds/${id}/context`, { body: "a tar archive" });
  expect(sent.status).toBe(200);
  const calls = world.host.calls.map((one) => one.replace(/ .*\//, " "));
  expect(calls.slice(-3)).toEqual(["DELETE entry", "PUT directory", "PUT archive"]);
  expect(sent.body.waits_for_context).toBe(false);
  await activateBuilder(world);
  expect(await buildNow(world, id)).toMatchObject({ status: "ready" });
  const late = await world.call("PUT", `/v1/builds/${id}/context`, { body: "x" });
  expect([late.status, late.body["code"]]).toEqual([409, "build_over"]);
  const none = await newBuild(world);
  const unwanted = await world.call("PUT", `/v1/builds/${none.id}/context`, { body: "x" });
  expect([unwanted.status, unwanted.body["code"]]).toEqual([409, "build_needs_no_context"]);
});

test("a secret goes to the build's microVM alone, and only while the build waits for its context", async () => {
  const { id } = await newBuild(world, { context: true, dockerfile: {}, steps: undefined });
  await activateBuilder(world);
  const path = `/v1/builds/${id}/secrets/token`;
  const sent = await world.call("PUT", path, { body: "s3cret-value" });
  expect([sent.status, sent.text]).toEqual([204, ""]);
  const file = world.host.files.get("/run/skerry-build/secrets/token");
  expect([file?.mode, file?.content.toString()]).toEqual([0o600, "s3cret-value"]);
  const large = await world.call("PUT", path, { body: "x".repeat(64 * 1024 + 1) });
  expect([large.status, large.body["code"]]).toEqual([413, "payload_too_large"]);
  const odd = await world.call("PUT", `/v1/builds/${id}/secrets/..%2Fescaped`, { body: "x" });
  expect(odd.status).toBe(400);
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from (
      select to_jsonb(builds)::text as content from builds
      union all select to_jsonb(build_steps)::text from build_steps
      union all select to_jsonb(build_log)::text from build_log
      union all select to_jsonb(audit_events)::text from audit_events
    ) kept where content like '%s3cret-value%'`.execute(world.db);
  expect(rows[0]?.count).toBe(0);
  await world.call("POST", `/v1/builds/${id}/cancel`);
  const late = await world.call("PUT", path, { body: "x" });
  expect([late.status, late.body["code"]]).toEqual([409, "build_canceled"]);
});

test.each(["queued", "building", "sealing", "freezing"] as const)(
  "a build that is %s is canceled at once, and its microVM goes",
  async (status) => {
    const held = Promise.withResolvers<void>();
    if (status === "queued") world.host.beforeStart = () => held.promise;
    const call = { sealing: "seal", freezing: "freeze" } as const;
    world.host.templates.before = async (asked) => {
      if (asked === call[status as keyof typeof call]) await held.promise;
    };
    const { id } = await newBuild(world, { steps: [{ run: status === "building" ? "forever" : "make" }] });
    const active = activateBuilder(world);
    await untilBuild(world, id, status);
    const canceled = await world.call<Build>("POST", `/v1/builds/${id}/cancel`);
    expect(canceled.body).toMatchObject({ status: "canceled", template_id: null });
    await active;
    held.resolve();
    await eventually(async () => {
      await vmReconciler(world.context, 1_000).activate(new AbortController().signal);
      return world.host.vms.size === 0;
    }, "its microVM is gone");
    expect(await heldMemoryMib(world)).toBe(0);
    expect(await buildNow(world, id)).toMatchObject({ status: "canceled" });
    expect((await world.call("GET", "/v1/templates/web:none")).status).toBe(404);
    // Asked again it changes nothing.
    expect((await world.call<Build>("POST", `/v1/builds/${id}/cancel`)).body.status).toBe("canceled");
  },
);

test("another process goes on with a build whose process has died in the middle of a step, and no line is missing or comes twice", async () => {
  const { id } = await newBuild(world, { steps: [{ run: "forever" }] });
  const dying = new AbortController();
  const first = activateBuilder(world, dying.signal).catch(() => undefined);
  await untilBuild(world, id, "building");
  const outputs = () => world.host.calls.filter((one) => one.startsWith(`GET /vms/${id}/executions/`));
  await eventually(() => outputs().length === 1, "it is followed");
  const execution = world.host.executions.last;
  execution.write("one\ntwo\n");
  execution.write("three\n");
  await eventually(async () => {
    const log = await world.call<BuildLog>("GET", `/v1/builds/${id}/logs`);
    return log.body.lines.length > 1;
  }, "the first lines are in the log");
  dying.abort();
  await first;
  execution.write("four\n");
  const second = activateBuilder(world);
  await eventually(() => outputs().length === 2, "it is followed again");
  execution.end();
  await second;
  expect(await buildNow(world, id)).toMatchObject({ status: "ready" });
  const { body } = await world.call<BuildLog>("GET", `/v1/builds/${id}/logs`);
  const lines = body.lines.filter(({ step, line }) => step === 0 && line > 1).map(({ text }) => text);
  expect(lines).toEqual(["one", "two", "three", "four"]);
});

test("a build whose microVM is lost fails, and one whose host is away for a moment goes on", async () => {
  const away = await newBuild(world);
  world.host.failures.set("start", new SkerryError("host_unavailable", "away"));
  await activateBuilder(world);
  expect(await buildNow(world, away.id)).toMatchObject({
    status: "queued",
    waits_for: { kind: "host", id: away.host_id },
  });
  world.host.failures.clear();
  await sql`update builds set retry_at = now()`.execute(world.db);
  await activateBuilder(world);
  expect((await buildNow(world, away.id)).status).toBe("ready");
  const { id } = await newBuild(world);
  world.host.templates.failures.set("seal", new SkerryError("vm_not_found", "The microVM is not there."));
  await activateBuilder(world);
  expect(await buildNow(world, id)).toMatchObject({ status: "failed", error: { code: "vm_not_found" } });
});

test("a build that takes longer than it may is ended", async () => {
  const { id } = await newBuild(world, { steps: [{ run: "forever" }], timeout: "1s" });
  await activateBuilder(world);
  expect(await buildNow(world, id)).toMatchObject({ status: "failed", error: { code: "build_timed_out" } });
  expect([...world.host.vms.keys()]).toEqual([]);
});

test("no more builds are under way than the organization may have, and what a build holds counts", async () => {
  await sql`
    insert into organization_limits (org_id, name, value) values (${world.orgId}, 'quota_builds', 1)`.execute(
    world.db,
  );
  const { id } = await newBuild(world);
  expect(await heldMemoryMib(world)).toBe(256);
  const second = await world.call("POST", "/v1/templates", {
    body: { name: "web", steps: [{ run: "x" }], size: "shared-cpu-1x" },
  });
  expect([second.status, second.body["code"]]).toEqual([403, "quota_exceeded"]);
  await world.call("POST", `/v1/builds/${id}/cancel`);
  await newBuild(world);
  await sql`delete from organization_limits`.execute(world.db);
});
