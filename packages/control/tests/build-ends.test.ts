// What is left of builds that are over: nothing on their hosts, no secrets in their rows, and after a month no row.

import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import { SkerryError } from "@skerry/contract/errors";
import { LOGS_MAX_BYTES, appendLines } from "../src/builds/build-log-store.ts";
import { sweepBuildLogs } from "../src/builds/build-log-store.ts";
import { sweepBuilds } from "../src/builds/build-store.ts";
import {
  activateBuilder,
  buildNow,
  builtTemplate,
  forgetBuildsAndVms,
  heldMemoryMib,
  newBuild,
} from "./support/builds.ts";
import { Members } from "./support/members.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();

afterEach(() => forgetBuildsAndVms(world));

test("a build that fails while it is frozen leaves no template on its host, however late that answers", async () => {
  world.host.templates.failures.set("freeze", new SkerryError("guest_failed", "It does not get ready."));
  world.host.templates.failures.set("delete", new SkerryError("host_unavailable", "away"));
  const { id } = await newBuild(world);
  await activateBuilder(world);
  expect(await buildNow(world, id)).toMatchObject({ status: "failed", error: { code: "guest_failed" } });
  expect(world.host.templates.kept.size).toBe(1);
  world.host.templates.failures.clear();
  await sql`update builds set retry_at = now()`.execute(world.db);
  await activateBuilder(world);
  expect(world.host.templates.kept.size).toBe(0);
  expect(await heldMemoryMib(world)).toBe(0);
});

test("a start command that fails is told with its exit code and what it printed last", async () => {
  const how = "The start command of the template ended with 127 before the template was ready.";
  const context = { exit_code: 127, log: "first\nsh: 1: ./serve\0: not found" };
  world.host.templates.failures.set("freeze", new SkerryError("template_start_failed", how, { context }));
  const { id } = await newBuild(world);
  await activateBuilder(world);
  expect((await buildNow(world, id)).error).toEqual({
    ...{ code: "template_start_failed", message: how, step: null, exit_code: 127 },
    last_lines: ["first", "sh: 1: ./serve\uFFFD: not found"],
  });
  world.host.templates.failures.clear();
});

test("a build that is canceled while it is frozen leaves no template on its host", async () => {
  const held = Promise.withResolvers<void>();
  world.host.templates.before = async (call) => {
    if (call === "freeze") await held.promise;
  };
  const { id } = await newBuild(world);
  const active = activateBuilder(world);
  await eventually(() => world.host.templates.kept.size === 1, "the template is on the host");
  await world.call<Build>("POST", `/v1/builds/${id}/cancel`);
  await active;
  held.resolve();
  expect(world.host.templates.kept.size).toBe(0);
  expect([...world.host.vms.keys()]).toEqual([]);
  expect(await heldMemoryMib(world)).toBe(0);
});

test("a canceled build whose host does not answer is asked for once in a turn, and again later", async () => {
  const { id } = await newBuild(world);
  await sql`update builds set status = 'canceled', finished_at = now() where id = ${id}`.execute(world.db);
  const held = Promise.withResolvers<void>();
  let asked = 0;
  world.host.beforeDestroy = () => {
    asked += 1;
    return held.promise;
  };
  world.host.failures.set("destroy", new SkerryError("host_unavailable", "away"));
  const active = activateBuilder(world);
  await eventually(() => asked > 0, "the host is asked");
  // Longer than the builder waits until it looks around.
  await sleep(2_500);
  expect(asked).toBe(1);
  held.resolve();
  await active;
  const { rows } = await sql<{ attempts: number; held: boolean }>`
    select attempts, execution_id is not null as held from builds where id = ${id}`.execute(world.db);
  expect(rows).toEqual([{ attempts: 1, held: true }]);
});

/** Where a value is kept in the rows of builds and templates. */
async function placesOf(value: string): Promise<string[]> {
  const { rows } = await sql<{ place: string }>`
    select place from (
      select 'builds' as place, to_jsonb(builds)::text as content from builds
      union all select 'steps', to_jsonb(build_steps)::text from build_steps
      union all select 'templates', to_jsonb(templates)::text from templates
    ) kept where content like ${`%${value}%`} group by place order by place`.execute(world.db);
  return rows.map(({ place }) => place);
}

test("what steps were told is erased with the microVM, and a template's with the template; what is shown and a retry stay", async () => {
  const steps = [{ env: { TOKEN: "s3cret" } }, { run: "fail 7" }];
  const { id, steps: shown } = await newBuild(world, { steps });
  expect(await placesOf("s3cret")).toEqual(["builds", "steps"]);
  await activateBuilder(world);
  const failed = await buildNow(world, id);
  expect(failed).toMatchObject({ status: "failed", error: { code: "build_step_failed" } });
  expect(failed.steps.map(({ name }) => name)).toEqual(shown.map(({ name }) => name));
  // Its request is what a retry is made of.
  expect(await placesOf("s3cret")).toEqual(["builds"]);
  const retried = await world.call<Build>("POST", `/v1/builds/${id}/retry`);
  expect(retried.status).toBe(201);
  expect(await placesOf("s3cret")).toEqual(["builds", "steps"]);
  await world.call("POST", `/v1/builds/${retried.body.id}/cancel`);
  expect(await placesOf("s3cret")).toEqual(["builds"]);
  await builtTemplate(world, { name: "secret", steps: [{ env: { TOKEN: "s3cret" } }, { run: "make" }] });
  await sql`delete from builds`.execute(world.db);
  expect(await placesOf("s3cret")).toEqual(["templates"]);
  expect((await world.call("DELETE", "/v1/templates/secret")).status).toBe(204);
  expect(await placesOf("s3cret")).toEqual([]);
});

test("an organization that is deleted leaves nothing of what its builds were told", async () => {
  const members = new Members(world);
  const { path } = await members.newOrganization();
  const { secret: token } = await members.newMember("owner", path);
  const body = { name: "web", size: "shared-cpu-1x", steps: [{ env: { TOKEN: "s3cret" } }, { run: "make" }] };
  expect((await world.call("POST", "/v1/templates", { token, body })).status).toBe(201);
  await activateBuilder(world);
  // One that goes on when the organization ends.
  expect((await world.call("POST", "/v1/templates", { token, body })).status).toBe(201);
  expect(await placesOf("s3cret")).toEqual(["builds", "steps", "templates"]);
  expect((await world.call("DELETE", path, { token })).status).toBe(204);
  await activateBuilder(world);
  expect(await placesOf("s3cret")).toEqual([]);
  expect([...world.host.vms.keys()]).toEqual([]);
});

test("builds that ended long ago are forgotten, however many, and no more than are asked for", async () => {
  for (let made = 0; made < 10; made += 1) {
    const { id } = await newBuild(world);
    await world.call("POST", `/v1/builds/${id}/cancel`);
  }
  await sql`update builds set finished_at = now() - interval '31 days'`.execute(world.db);
  expect(await sweepBuilds(world.db, world.orgId, 9)).toBe(9);
  expect(await sweepBuilds(world.db, world.orgId, 9)).toBe(1);
});

test("of the builds of an organization that ended the last 2,000 are kept, and of another one all of its own", async () => {
  const { id } = await newBuild(world);
  await world.call("POST", `/v1/builds/${id}/cancel`);
  await activateBuilder(world);
  const { id: other } = await new Members(world).newOrganization();
  const copy = (org: string, prefix: string, count: number) =>
    sql`
    insert into builds select (jsonb_populate_record(b, jsonb_build_object(
      'id', ${prefix} || n, 'org_id', ${org}::text, 'finished_at', now() - n * interval '1 minute'))).*
    from builds b, generate_series(1, ${count}::integer) n where b.id = ${id}`.execute(world.db);
  await copy(world.orgId, "bld_own", 2_009);
  await copy(other, "bld_other", 100);
  await sql`update builds set execution_id = 'still', org_id = ${other} where id = ${id}`.execute(world.db);
  expect(await sweepBuilds(world.db, world.orgId, 5)).toBe(5);
  expect(await sweepBuilds(world.db, world.orgId, 1_000)).toBe(4);
  expect(await sweepBuilds(world.db, world.orgId, 1_000)).toBe(0);
  const { rows } = await sql<{ count: number; oldest: boolean }>`
    select count(*)::integer as count, bool_or(id = 'bld_own2000') as oldest from builds where org_id = ${world.orgId}`.execute(
    world.db,
  );
  expect(rows).toEqual([{ count: 2_000, oldest: true }]);
});

test("of the logs of an organization's builds the last are kept, as many as have room together, and of another one all of its own", async () => {
  const third = Math.floor(LOGS_MAX_BYTES / 3);
  const ids: string[] = [];
  for (let made = 0; made < 5; made += 1) {
    const { id } = await newBuild(world);
    ids.push(id);
    await appendLines(world.db, { buildId: id, step: null, texts: ["first", "second"] });
    await world.call("POST", `/v1/builds/${id}/cancel`);
  }
  await activateBuilder(world);
  const [oldest = "", old = "", running = "", other = "", last = ""] = ids;
  const { id: elsewhere } = await new Members(world).newOrganization();
  await sql`update builds set log_bytes = ${third}, finished_at = now() - interval '1 hour'`.execute(
    world.db,
  );
  await sql`update builds set finished_at = now() - interval '2 hours' where id in (${oldest}, ${other})`.execute(
    world.db,
  );
  await sql`update builds set status = 'building', finished_at = null where id = ${running}`.execute(
    world.db,
  );
  await sql`update builds set org_id = ${elsewhere} where id = ${other}`.execute(world.db);
  expect(await sweepBuildLogs(world.db, 10)).toBe(0);
  await sql`update builds set log_bytes = ${third + 3} where id in (${old}, ${other})`.execute(world.db);
  expect(await sweepBuildLogs(world.db, 10)).toBe(1);
  expect(await sweepBuildLogs(world.db, 10)).toBe(0);
  const textsOf = async (id: string): Promise<string[]> => {
    const { rows } = await sql<{ text: string }>`
      select text from build_log where build_id = ${id} order by line`.execute(world.db);
    return rows.map(({ text }) => text);
  };
  expect(await textsOf(oldest)).toEqual([expect.stringContaining("The log was removed")]);
  for (const kept of [old, running, other, last]) expect(await textsOf(kept)).toContain("second");
});
