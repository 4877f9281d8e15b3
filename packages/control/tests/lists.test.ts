import { sql } from "kysely";
import { beforeAll, expect, test } from "vitest";
import { newId } from "@skerry/contract/ids";
import type { SandboxList } from "@skerry/contract/sandboxes/sandbox";
import type { Template } from "@skerry/contract/templates/template";
import { builtTemplate } from "./support/builds.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const ids: string[] = [];
beforeAll(async () => {
  for (let index = 0; index < 7; index += 1) {
    const metadata = { number: String(index), parity: index % 2 === 0 ? "even" : "odd" };
    ids.unshift((await world.createSandbox({ metadata })).id);
  }
});

async function list(query: string): Promise<SandboxList> {
  const answer = await world.call<SandboxList>("GET", `/v1/sandboxes${query}`);
  expect(answer.status).toBe(200);
  return answer.body;
}

test("a list shows the newest first and ends without a cursor", async () => {
  const page = await list("");
  expect(page.items.map((item) => item.id)).toEqual(ids);
  expect(page.next_cursor).toBeNull();
});

test("pages neither repeat nor skip a sandbox while others are added", async () => {
  const seen: string[] = [];
  let cursor: string | null = "";
  let rounds = 0;
  while (cursor !== null) {
    const page: SandboxList = await list(`?limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`);
    seen.push(...page.items.map((item) => item.id));
    cursor = page.next_cursor;
    rounds += 1;
    const added = await world.createSandbox();
    await sql`delete from sandboxes where id = ${added.id}`.execute(world.db);
    await world.createSandbox({ metadata: { late: String(rounds) } });
  }
  expect(rounds).toBe(3);
  expect(seen).toEqual(ids);
});

test("a list can be filtered by status, template and labels together", async () => {
  expect((await list("?metadata.parity=odd&metadata.number=3")).items).toHaveLength(1);
  expect((await list("?metadata.parity=even&status=running&template=base")).items).toHaveLength(4);
  expect((await list("?metadata.parity=even&status=destroyed")).items).toHaveLength(0);
  expect((await list("?template=other")).items).toHaveLength(0);
  expect((await list(`?metadata.parity=${encodeURIComponent('"} or true')}`)).items).toHaveLength(0);
});

test("a list can be filtered by host, by the beginning of a name or an id, and by when they were made", async () => {
  const named = await world.createSandbox({ name: "100%_sure", metadata: { of: "filters" } });
  const found = async (query: string) =>
    (await list(`?metadata.of=filters&${query}`)).items.map(({ id }) => id);
  expect(await found(`host=${named.host_id}`)).toEqual([named.id]);
  expect(await found(`host=${newId("host")}`)).toEqual([]);
  expect(await found("q=100%25_s")).toEqual([named.id]);
  expect(await found(`q=${named.id.slice(0, 20)}`)).toEqual([named.id]);
  // What stands for anything in a pattern stands for itself here.
  for (const other of ["%25", "100_", "sure", "100%25_sure!"]) expect(await found(`q=${other}`)).toEqual([]);
  const madeMs = new Date(named.created_at).getTime();
  const after = (ms: number) => `created_after=${new Date(madeMs + ms).toISOString()}`;
  expect(await found(after(-1_000))).toEqual([named.id]);
  expect(await found(after(1_000))).toEqual([]);
  for (const wrong of ["created_after=yesterday", "q=%00", "host=%00"])
    expect((await world.call("GET", `/v1/sandboxes?${wrong}`)).status).toBe(400);
  await world.call("DELETE", `/v1/sandboxes/${named.id}`);
  await sql`delete from sandboxes where id = ${named.id}`.execute(world.db);
});

test("a list that is asked to says how many there are of each status, whatever status it shows", async () => {
  const made = await Promise.all(
    [1, 2, 3, 4].map((n) => world.createSandbox({ name: `counted-${n}`, metadata: { of: "counts" } })),
  );
  const [paused, failed, destroyed] = made.map(({ id }) => id);
  await sql`update sandboxes set status = 'paused' where id = ${paused}`.execute(world.db);
  await sql`update sandboxes set status = 'failed', template = 'other' where id = ${failed}`.execute(
    world.db,
  );
  await sql`update sandboxes set status = 'destroyed' where id = ${destroyed}`.execute(world.db);
  const none = {
    ...{ creating: 0, running: 0, pausing: 0, paused: 0, resuming: 0, unreachable: 0, failed: 0 },
    destroying: 0,
  };
  const counted = async (query: string) => (await list(`?metadata.of=counts&counts=true${query}`)).counts;
  for (const query of ["", "&status=failed", "&alive=true", "&limit=1"])
    expect(await counted(query)).toEqual({ ...none, running: 1, paused: 1, failed: 1 });
  const { items, next_cursor } = await list("?metadata.of=counts&counts=true&limit=1");
  expect(items).toHaveLength(1);
  expect(await counted(`&limit=1&cursor=${next_cursor}`)).toEqual({
    ...none,
    running: 1,
    paused: 1,
    failed: 1,
  });
  expect(await counted("&template=other")).toEqual({ ...none, failed: 1 });
  expect(await counted("&q=counted-4")).toEqual({ ...none, running: 1 });
  expect(await counted(`&host=${newId("host")}`)).toEqual(none);
  expect(await counted(`&created_after=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual(none);
  for (const query of ["", "&counts=false"])
    expect(await list(`?limit=1${query}`)).not.toHaveProperty("counts");
  expect((await world.call("GET", "/v1/sandboxes?counts=yes")).status).toBe(400);
  const status = await world.call<{ sandboxes: object }>("GET", "/v1/status");
  expect(status.body.sandboxes).toMatchObject({ paused: 1, pausing: 0, resuming: 0, failed: 1 });
  const other = await world.call<SandboxList>("GET", "/v1/sandboxes?counts=true", {
    token: await world.strangerToken(),
  });
  expect(other.body.counts).toEqual(none);
  const machines = await world.call<{ counts: object }>("GET", "/v1/machines?counts=true");
  expect(machines.body.counts).toEqual({
    ...{ creating: 0, running: 0, stopping: 0, stopped: 0, starting: 0, failed: 0, destroying: 0 },
  });
  for (const { id } of made) await sql`delete from sandboxes where id = ${id}`.execute(world.db);
});

test("what has ended is left out where only what is alive is wanted", async () => {
  const [running, failed, destroyed] = await Promise.all(
    [1, 2, 3].map(() => world.createSandbox({ metadata: { kept: "no" } })),
  );
  await sql`update sandboxes set status = 'failed' where id = ${failed?.id}`.execute(world.db);
  await sql`update sandboxes set status = 'destroyed', destroyed_at = now() where id = ${destroyed?.id}`.execute(
    world.db,
  );
  expect((await list("?metadata.kept=no&alive=true")).items.map(({ id }) => id)).toEqual([running?.id]);
  for (const query of ["", "&alive=false"])
    expect((await list(`?metadata.kept=no${query}`)).items).toHaveLength(3);
  expect((await list("?metadata.kept=no&alive=true&status=failed")).items).toEqual([]);
  const machines = await world.call<{ items: unknown[] }>("GET", "/v1/machines?alive=true");
  expect([machines.status, machines.body.items]).toEqual([200, []]);
});

test("a cursor that is made up, a limit out of range and an unknown filter are refused", async () => {
  const code = async (query: string) => {
    const answer = await world.call("GET", `/v1/sandboxes?${query}`);
    return [answer.status, answer.body["code"]];
  };
  expect(await code("cursor=abc")).toEqual([400, "bad_request"]);
  expect(await code(`cursor=${Buffer.from("' or 1=1").toString("base64url")}`)).toEqual([400, "bad_request"]);
  expect(await code("limit=0")).toEqual([400, "bad_request"]);
  expect(await code("limit=501")).toEqual([400, "bad_request"]);
  expect(await code("limit=ten")).toEqual([400, "bad_request"]);
  expect(await code("state=running")).toEqual([400, "unknown_field"]);
  expect(await code("status=happy")).toEqual([400, "bad_request"]);
  expect(await code("metadata.a=%00")).toEqual([400, "bad_request"]);
  expect(await code("template=%00")).toEqual([400, "bad_request"]);
});

test("tokens are listed by page, newest first, without their secrets", async () => {
  for (const name of ["a", "b", "c"]) await world.call("POST", "/v1/auth/tokens", { body: { name } });
  const first = await world.call<{ items: { name: string }[]; next_cursor: string }>(
    "GET",
    "/v1/auth/tokens?limit=2",
  );
  expect(first.body.items.map((item) => item.name)).toEqual(["c", "b"]);
  expect(first.text).not.toContain("sk_");
  const second = await world.call<typeof first.body>(
    "GET",
    `/v1/auth/tokens?limit=2&cursor=${first.body.next_cursor}`,
  );
  expect(second.body.items.map((item) => item.name)).toEqual(["a", "test"]);
  expect(second.body.next_cursor).toBeNull();
});

test("lists of sandboxes and machines are filtered by a template's id, digest, tag, and name", async () => {
  const first = await builtTemplate(world, { tag: "1" });
  const second = await builtTemplate(world, { tag: "2", steps: [{ run: "make two" }] });
  const [one, two] = [String(first.template_id), String(second.template_id)];
  const made = [await world.createSandbox({ template: one }), await world.createSandbox({ template: two })];
  const machine = await world.createMachine({ template: two });
  const found = async (filter: string) => {
    const { body } = await world.call<{ items: { id: string }[] }>("GET", `/v1/sandboxes?template=${filter}`);
    const ids = new Set(body.items.map(({ id }) => id));
    return made.map(({ id }) => ids.has(id));
  };
  expect(await found(one)).toEqual([true, false]);
  expect(await found("web:2")).toEqual([false, true]);
  const { body } = await world.call<Template>("GET", "/v1/templates/web:1");
  expect(await found(`web@${body.digest}`)).toEqual([true, false]);
  expect(await found("web")).toEqual([true, true]);
  expect(await found("web:none")).toEqual([false, false]);
  const machines = await world.call<{ items: { id: string }[] }>("GET", "/v1/machines?template=web");
  expect(machines.body.items.map(({ id }) => id)).toEqual([machine.id]);
});
