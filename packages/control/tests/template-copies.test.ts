// Templates of organizations on hosts that did not build them: how they get there, who waits for that, and what is left where it fails.

import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Host } from "@skerry/contract/hosts/host";
import type { Sandbox } from "@skerry/contract/sandboxes/sandbox";
import { drainFinisher } from "../src/moves/drain-finisher.ts";
import { templateSpreader } from "../src/moves/template-spreader.ts";
import { builtTemplate } from "./support/builds.ts";
import type { FakeHost } from "./support/fake-host.ts";
import { Members } from "./support/members.ts";
import { never, TwoHosts } from "./support/two-hosts.ts";
import { eventually, type Answer } from "./support/world.ts";

let two: TwoHosts;
let template: string;
let from: FakeHost;
let to: FakeHost;

beforeEach(async () => {
  two = await TwoHosts.open();
  template = String((await builtTemplate(two.world)).template_id);
  [from, to] = two.first.templates.kept.has(template) ? [two.first, two.second] : [two.second, two.first];
});
afterEach(() => two[Symbol.asyncDispose]());

const spread = (stop = never) => templateSpreader(two.world.context, 1_000).activate(stop);
const create = () => two.world.call<Sandbox>("POST", "/v1/sandboxes", { body: { template: "web" } });

async function idOf({ name }: FakeHost): Promise<string> {
  return (
    await two.world.db.selectFrom("hosts").select("id").where("name", "=", name).executeTakeFirstOrThrow()
  ).id;
}

async function copies(): Promise<unknown[]> {
  return two.world.db.selectFrom("template_copies").select(["host_id", "status", "reason"]).execute();
}

async function places(): Promise<{ host_id: string; sizes: string[] }[]> {
  return two.world.db
    .selectFrom("template_hosts")
    .select(["host_id", "sizes"])
    .where("template_id", "=", template)
    .orderBy("host_id")
    .execute();
}

/** No room on the host that built it. */
async function fill(): Promise<void> {
  from.memoryMib = 100;
  await two.ask(from.socketPath);
  await two.world.context.hostCapacity.refreshNow();
}

/** A create under way, until a copy was ordered for it. */
async function createUntilOrdered(): Promise<{ answer: Promise<Answer<Sandbox>> }> {
  const answer = create();
  await eventually(async () => (await copies()).length > 0, "the copy is ordered");
  return { answer };
}

test("a sandbox of a template whose host is full runs on another one, which gets its layers and freezes its size", async () => {
  const before = await places();
  expect(before).toEqual([{ host_id: await idOf(from), sizes: ["shared-cpu-1x"] }]);
  await fill();
  const { answer } = await createUntilOrdered();
  await spread();
  const { status, body } = await answer;
  expect([status, body.status]).toEqual([201, "running"]);
  expect(to.vms.has(body.id)).toBe(true);
  expect([to.templates.has(template), [...to.templates.frozen]]).toEqual([
    true,
    [`${template} shared-cpu-1x`],
  ]);
  expect(await copies()).toEqual([]);
  expect((await places()).map(({ host_id }) => host_id).toSorted()).toEqual(
    [await idOf(from), await idOf(to)].toSorted(),
  );
  // The next one finds it there.
  const next = await create();
  expect([next.status, to.vms.has(next.body.id)]).toEqual([201, true]);
});

test("hosts that have it frozen in the size are preferred, and a size that was not is noted", async () => {
  await fill();
  const { answer } = await createUntilOrdered();
  await spread();
  await answer;
  from.memoryMib = 64_000;
  await two.ask(from.socketPath);
  await two.world.context.hostCapacity.refreshNow();
  await sql`update template_hosts set sizes = '{}' where host_id = ${await idOf(to)}`.execute(two.world.db);
  for (let count = 0; count < 3; count += 1) expect(from.vms.has((await create()).body.id)).toBe(true);
  await fill();
  expect(to.vms.has((await create()).body.id)).toBe(true);
  expect((await places()).map(({ sizes }) => sizes)).toEqual([["shared-cpu-1x"], ["shared-cpu-1x"]]);
});

test("no copy is made for a request that its quotas refuse, nor for one that no host has room for", async () => {
  await fill();
  await sql`
    insert into organization_limits (org_id, name, value) values (${two.world.orgId}, 'quota_sandboxes', 0)`.execute(
    two.world.db,
  );
  expect((await create()).body).toMatchObject({ code: "quota_exceeded" });
  await sql`delete from organization_limits`.execute(two.world.db);
  to.memoryMib = 100;
  await two.ask(to.socketPath);
  expect((await create()).body).toMatchObject({ code: "size_too_large" });
  expect(await copies()).toEqual([]);
});

test("a copy whose template does not freeze there is taken back, and the request is told why", async () => {
  await fill();
  to.templates.failures.set("freeze", new SkerryError("guest_failed", "It did not boot."));
  const { answer } = await createUntilOrdered();
  await spread();
  const { status, body } = await answer;
  expect([status, body]).toMatchObject([503, { code: "template_not_ready" }]);
  expect(JSON.stringify(body)).toContain("It did not boot.");
  expect(to.templates.kept.has(template)).toBe(false);
  expect(await copies()).toMatchObject([{ status: "failed", reason: "It did not boot." }]);
  // After a while it is tried again.
  to.templates.failures.clear();
  await sql`update template_copies set due_at = now() - interval '1 s'`.execute(two.world.db);
  const again = create();
  await eventually(
    async () => JSON.stringify(await copies()).includes('"copying"'),
    "the copy is ordered once more",
  );
  await spread();
  expect((await again).status).toBe(201);
});

test("a copy that fails where the template has come meanwhile takes nothing away", async () => {
  await fill();
  const { answer } = await createUntilOrdered();
  const copy = await two.world.db.selectFrom("template_copies").selectAll().executeTakeFirstOrThrow();
  await spread();
  expect((await answer).status).toBe(201);
  // Ordered by a request that had looked a moment before.
  await two.world.db.insertInto("template_copies").values(copy).execute();
  to.templates.failures.set("freeze", new SkerryError("no_capacity", "There is no room."));
  await spread();
  expect(to.templates.kept.has(template)).toBe(true);
  expect((await places()).map(({ host_id }) => host_id)).toContain(copy.host_id);
  expect(await copies()).toEqual([]);
});

test.each(["put", "send", "freeze"] as const)(
  "what a host did not do at %s is done in another attempt, also by another replica",
  async (call) => {
    await fill();
    const failing = call === "send" ? from : to;
    failing.templates.failures.set(call, new SkerryError("host_unavailable", "not now"));
    const { answer } = await createUntilOrdered();
    await spread();
    expect(await copies()).toMatchObject([{ status: "copying", reason: "not now" }]);
    expect((await places()).length).toBe(1);
    failing.templates.failures.clear();
    await sql`update template_copies set due_at = now()`.execute(two.world.db);
    await spread();
    expect((await answer).status).toBe(201);
  },
);

test("a replica that ends in the middle leaves a copy that the next one carries on with", async () => {
  await fill();
  const dies = new AbortController();
  from.templates.before = async (call) => {
    if (call === "send") dies.abort();
  };
  const { answer } = await createUntilOrdered();
  await spread(dies.signal);
  expect([(await copies()).length, (await places()).length]).toEqual([1, 1]);
  from.templates.before = async () => undefined;
  await spread();
  expect((await answer).status).toBe(201);
  expect(await copies()).toEqual([]);
});

test("a template that is deleted while it is on its way is nowhere afterwards", async () => {
  await two.world.db
    .insertInto("template_copies")
    .values({
      ...{ template_id: template, host_id: await idOf(to), status: "copying" },
      ...{ sizes: [], ticket: "0".repeat(64), reason: null },
    })
    .execute();
  from.templates.before = async (call) => {
    if (call === "send") await two.world.call("DELETE", "/v1/templates/web");
  };
  await spread();
  await spread();
  for (const host of [from, to]) expect(host.templates.kept.has(template)).toBe(false);
  const { rows } = await sql`select status from templates where id = ${template}`.execute(two.world.db);
  expect([rows, await copies(), await places()]).toEqual([[{ status: "deleted" }], [], []]);
});

test("a host that is removed while a template is on its way there leaves nothing of it", async () => {
  await two.world.db
    .insertInto("template_copies")
    .values({
      ...{ template_id: template, host_id: await idOf(to), status: "copying" },
      ...{ sizes: [], ticket: "0".repeat(64), reason: null },
    })
    .execute();
  from.templates.before = async (call) => {
    if (call !== "send") return;
    await sql`update hosts set removed_at = now() where id = ${await idOf(to)}`.execute(two.world.db);
    await sql`delete from template_copies`.execute(two.world.db);
  };
  await spread();
  expect([await copies(), (await places()).length]).toEqual([[], 1]);
});

test("a drain copies what only that host has to another one, and ends when it is there", async () => {
  const finish = () => drainFinisher(two.world.context, 1_000).activate(never);
  const { body } = await two.world.call<Host>("POST", `/v1/hosts/${await idOf(from)}/drain`);
  expect(body).toMatchObject({
    status: "draining",
    waits_for: expect.stringMatching(/^1 template that no other host has is on it/) as string,
  });
  await finish();
  expect((await two.host(from.name)).status).toBe("draining");
  await spread();
  await finish();
  expect((await two.host(from.name)).status).toBe("maintenance");
  expect(to.templates.has(template)).toBe(true);
  const created = await create();
  expect([created.status, to.vms.has(created.body.id)]).toEqual([201, true]);
});

test("a drain does not wait for a copy that no host can take", async () => {
  to.templates.failures.set("put", new SkerryError("no_capacity", "The disk is full."));
  await two.world.call<Host>("POST", `/v1/hosts/${await idOf(from)}/drain`);
  await spread();
  expect(await copies()).toMatchObject([{ status: "failed", reason: "The disk is full." }]);
  await drainFinisher(two.world.context, 1_000).activate(never);
  expect((await two.host(from.name)).status).toBe("maintenance");
  expect((await create()).body).toMatchObject({ code: "template_not_ready" });
});

test("an organization with more copies than there are places leaves places for those of another", async () => {
  const { db } = two.world;
  const { id: otherOrg } = await new Members(two.world).newOrganization();
  const copy = async (id: string, orgId: string) => {
    await sql`
      insert into templates select (jsonb_populate_record(t, ${JSON.stringify({ id, org_id: orgId })}::jsonb)).*
      from templates t where id = ${template}`.execute(db);
    await sql`
      insert into template_hosts (template_id, host_id, sizes) values (${id}, ${await idOf(from)}, '{}')`.execute(
      db,
    );
    await db
      .insertInto("template_copies")
      .values({
        ...{ template_id: id, host_id: await idOf(to), status: "copying" },
        ...{ sizes: [], ticket: "0".repeat(64), reason: null },
      })
      .execute();
  };
  const idsOf = (count: number, digit: string) =>
    Array.from({ length: count }, (_, index) => `tpl_${`${digit}${index + 10}`.padStart(26, "0")}`);
  const own = idsOf(12, "1");
  for (const id of own) await copy(id, two.world.orgId);
  // The last one of all.
  const [others = ""] = idsOf(1, "2");
  await copy(others, otherOrg);
  const release = Promise.withResolvers<void>();
  to.templates.before = (call) => (call === "put" ? release.promise : Promise.resolve());
  const spreading = spread();
  const begun = (ids: readonly string[]) => ids.filter((id) => to.calls.includes(`PUT /templates/${id}`));
  try {
    await eventually(async () => begun([...own, others]).length >= 4, "as many as may have begun");
    expect(begun([others])).toEqual([others]);
    expect(begun(own)).toHaveLength(3);
  } finally {
    release.resolve();
    await spreading;
  }
  expect(await copies()).toEqual([]);
  expect([...own, others].every((id) => to.templates.has(id))).toBe(true);
});
