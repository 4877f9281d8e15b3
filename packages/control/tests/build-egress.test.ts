// What builds reach, and what is told of what they were denied.

import { sql } from "kysely";
import { afterEach, expect, test } from "vitest";
import type { BuildEgress } from "@skerry/contract/builds/build";
import type { BuildLog } from "@skerry/contract/builds/build-log";
import { SkerryError } from "@skerry/contract/errors";
import { exampleOf } from "@skerry/contract/named";
import { EgressDenial } from "@skerry/contract/vms/egress";
import { activateBuilder, buildNow, newBuild } from "./support/builds.ts";
import { Members } from "./support/members.ts";
import { openReplica } from "./support/replica.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();

afterEach(async () => {
  world.host.denied = [];
  await sql`delete from builds`.execute(world.db);
  world.host.vms.clear();
});

async function egressOf(id: string, token = world.token): Promise<BuildEgress> {
  const answer = await world.call<BuildEgress>("GET", `/v1/builds/${id}/egress`, { token });
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

test("a build that says nothing reaches what the operator names for builds, whatever its organization's sandboxes reach", async () => {
  const { id } = await newBuild(world);
  expect(await egressOf(id)).toMatchObject({ mode: "allow_all", dns: true });
  await using named = await openReplica(world, { buildDomains: ["*.example.com", "example.net"] });
  const body = { name: "web", size: "shared-cpu-1x", steps: [{ run: "make" }] };
  const made = await world.call<{ id: string }>("POST", "/v1/templates", { body, url: named.url });
  const expected = { mode: "deny_all", allow_domains: ["*.example.com", "example.net"], dns: true };
  expect(await egressOf(made.body.id)).toMatchObject(expected);
  await sql`delete from builds`.execute(world.db);
  const egress = { mode: "deny_all" };
  const own = await world.call<{ id: string }>("POST", "/v1/templates", {
    body: { ...body, egress },
    url: named.url,
  });
  const { allow_domains, ...policy } = await egressOf(own.body.id);
  expect([policy.mode, policy.dns, allow_domains]).toEqual(["deny_all", false, undefined]);
});

test("what a build was denied is told while it runs and after its end, and at the end of the log of a step that fails", async () => {
  const denial: EgressDenial = { ...exampleOf(EgressDenial), domain: "example.com", rule: "domain" };
  world.host.denied = [denial];
  const { id } = await newBuild(world, { steps: [{ run: "forever" }] });
  const active = activateBuilder(world);
  await eventually(async () => (await buildNow(world, id)).steps[0]?.status === "running", "its step runs");
  expect((await egressOf(id)).denied).toEqual([denial]);
  world.host.executions.last.end(7);
  await active;
  world.host.denied = [];
  expect(await buildNow(world, id)).toMatchObject({ status: "failed", error: { exit_code: 7 } });
  expect((await egressOf(id)).denied).toEqual([denial]);
  const { body } = await world.call<BuildLog>("GET", `/v1/builds/${id}/logs`);
  expect(body.lines.at(-1)).toMatchObject({
    step: 0,
    text: "Egress denied: example.com at 203.0.113.9, tcp port 25, by the rule domain.",
  });
  const { path } = await new Members(world).newOrganization();
  const { secret: token } = await new Members(world).newMember("owner", path);
  const foreign = await world.call("GET", `/v1/builds/${id}/egress`, { token });
  expect([foreign.status, foreign.body["code"]]).toEqual([404, "build_not_found"]);
});

test("a step ends as it did where its host cannot say what was denied", async () => {
  world.host.failures.set("egress", new SkerryError("host_unavailable", "away"));
  const { id } = await newBuild(world, { steps: [{ run: "fail 7" }] });
  await activateBuilder(world);
  world.host.failures.clear();
  expect(await buildNow(world, id)).toMatchObject({ status: "failed", error: { exit_code: 7 } });
  expect((await egressOf(id)).denied).toEqual([]);
});
