// What builds of one organization may take of what all share.

import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { Build } from "@skerry/contract/builds/build";
import type { Limits } from "@skerry/contract/limits/limits-report";
import { BUILDER_DISK_GIB } from "@skerry/contract/templates/template-name";
import type { Template, TemplateList } from "@skerry/contract/templates/template";
import { BUILDS_AT_ONCE } from "../src/builds/builder.ts";
import { setLimits } from "../src/limits/organization-limits.ts";
import { activateBuilder, buildNow, builtTemplate, newBuild } from "./support/builds.ts";
import { Members } from "./support/members.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();

afterEach(async () => {
  world.host.templates.before = async () => undefined;
  world.host.templates.kept.clear();
  for (const table of [
    "sandboxes",
    "machines",
    "builds",
    "template_frozen",
    "template_tags",
    "template_hosts",
  ])
    await sql`delete from ${sql.table(table)}`.execute(world.db);
  await sql`delete from templates`.execute(world.db);
  await sql`delete from organization_limits`.execute(world.db);
  world.host.vms.clear();
});

test("an organization with more builds than there are places leaves places for the builds of another", async () => {
  const { id } = await newBuild(world, { steps: [{ run: "forever" }] });
  // As many as a large quota allows, without the room that each would take of the host.
  const copies = BUILDS_AT_ONCE + 36;
  await sql`
    insert into builds (id, org_id, name, tag, request, status, context, host_id, execution_id, size, vcpus, memory_mib, disk_gib, egress, target,
      config, template_id, ends_by)
    select 'bld_' || lpad(n::text, 26, '0'), org_id, name, tag, request, status, context, host_id, execution_id || n, size, 0, 0, 0, egress, target,
      config, template_id || n, ends_by
    from builds, generate_series(1, ${copies}::integer) n where id = ${id}`.execute(world.db);
  await sql`
    insert into build_steps (build_id, org_id, index, kind, name, command, env, execution)
    select b.id, s.org_id, s.index, s.kind, s.name, s.command, s.env, 'exe_' || lpad(substr(b.id, 5), 26, '0')
    from builds b, build_steps s where s.build_id = ${id} and s.index = 0 and b.id <> ${id}`.execute(
    world.db,
  );
  const stop = new AbortController();
  const active = activateBuilder(world, stop.signal).catch(() => undefined);
  const building = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::integer as count from builds where org_id = ${world.orgId} and status = 'building'`.execute(
      world.db,
    );
    return rows[0]?.count ?? 0;
  };
  await eventually(async () => (await building()) === BUILDS_AT_ONCE / 2, "it has its share");
  const { path } = await new Members(world).newOrganization();
  const { secret: token } = await new Members(world).newMember("owner", path);
  const body = { name: "web", size: "shared-cpu-1x", steps: [{ run: "make" }] };
  const other = await world.call<Build>("POST", "/v1/templates", { token, body });
  expect(other.status).toBe(201);
  await eventually(async () => {
    const now = await world.call<Build>("GET", `/v1/builds/${other.body.id}`, { token });
    return now.body.status === "ready";
  }, "the other organization's build is ready");
  expect(await building()).toBe(BUILDS_AT_ONCE / 2);
  stop.abort();
  await active;
});

test("a build takes one upload of its context at a time, and none for longer than it waits for that", async () => {
  const { id } = await newBuild(world, { context: true, steps: [{ copy: { from: ".", to: "/app" } }] });
  await activateBuilder(world);
  const begun = new Date(Date.now() - 597_000).toISOString();
  await sql`
    update builds set created_at = now() - interval '1 hour', waits_for = jsonb_set(waits_for, '{since}', to_jsonb(${begun}::text))
    where id = ${id}`.execute(world.db);
  const slow = request(`${world.url}/v1/builds/${id}/context`, {
    method: "PUT",
    headers: { authorization: `Bearer ${world.token}`, "content-type": "application/octet-stream" },
  });
  const answered = once(slow, "response") as Promise<[IncomingMessage]>;
  slow.write("the beginning of an archive");
  const isUnpacking = () => world.host.calls.some((call) => call.startsWith(`PUT /vms/${id}/archive`));
  await eventually(isUnpacking, "the first upload is open");
  const second = await world.call("PUT", `/v1/builds/${id}/context`, { body: "an archive" });
  expect([second.status, second.body["code"]]).toEqual([429, "too_many_streams"]);
  const [response] = await answered;
  const answer = JSON.parse((await response.toArray()).join("")) as { readonly code: string };
  expect([response.statusCode, answer.code]).toEqual([422, "context_missing"]);
  slow.destroy();
  await sql`update builds set retry_at = now()`.execute(world.db);
  await activateBuilder(world);
  expect(await buildNow(world, id)).toMatchObject({ status: "failed", error: { code: "context_missing" } });
});

test("a build counts with the builder's disk and the one that it builds on", async () => {
  const { body } = await world.call<TemplateList>("GET", "/v1/templates");
  const base = body.items.find(({ name }) => name === "base")?.disk_gib ?? 0;
  await newBuild(world);
  const { quotas } = (await world.call<Limits>("GET", "/v1/limits")).body;
  expect(quotas.disk_gib.used).toBe(BUILDER_DISK_GIB + base);
});

test("the memory that hosts keep of a template counts as templates, for each size once", async () => {
  const { template_id } = await builtTemplate(world, { sizes: ["shared-cpu-1x"] });
  const shown = async () => (await world.call<Template>("GET", `/v1/templates/${String(template_id)}`)).body;
  const MIB = 1024 ** 2;
  expect(await shown()).toMatchObject({ frozen_bytes: 256 * MIB });
  await setLimits(world.db, world.orgId, [["quota_template_gib", 1]]);
  // Its files and 256 MiB are within 1 GiB, so the first of another size is not.
  const large = await world.call("POST", "/v1/sandboxes", {
    body: { template: "web", size: "shared-cpu-4x" },
  });
  expect([large.status, large.body["code"]]).toEqual([403, "quota_exceeded"]);
  expect(large.body["remediation"]).toMatch(/Delete templates/);
  expect(await shown()).toMatchObject({ frozen_bytes: 256 * MIB });
  await world.createSandbox({ template: "web", size: "shared-cpu-2x" });
  await world.createSandbox({ template: "web", size: "shared-cpu-2x" });
  expect(await shown()).toMatchObject({ frozen_bytes: 768 * MIB });
});
