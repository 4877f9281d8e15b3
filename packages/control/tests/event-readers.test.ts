// Who may follow what changes, for how long, and what that costs.

import { createHash } from "node:crypto";
import type { KyselyPlugin } from "kysely";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Caller } from "../src/caller.ts";
import { EventFeed } from "../src/events/event-feed.ts";
import { followEvents } from "../src/events/follow-events.ts";
import { EventReader, Events } from "./support/event-readers.ts";
import { Members } from "./support/members.ts";
import { eventually, useWorld } from "./support/world.ts";

const world = useWorld();
Object.assign(world.host, { memoryMib: 1_000_000, cpus: 1_000 });
const events = new Events(world);

test("a token is told of its own organization, and of the kinds that it may read alone", async () => {
  const stranger = await world.strangerToken();
  const cursor = await events.latest(stranger);
  const { id } = await world.createSandbox();
  await world.db.updateTable("hosts").set({ waits_for: "something" }).execute();
  expect(await events.after(cursor, { token: stranger })).toEqual([]);
  // Hosts are the operator's, and an owner of another organization is not.
  expect((await world.call("GET", "/v1/events?kind=host", { token: stranger })).status).toBe(403);
  const limited = await events.mint({ scopes: ["machines:read"] });
  expect(await events.after(cursor, { token: limited.token })).toEqual([]);
  const refused = await world.call("GET", "/v1/events?kind=sandbox,machine", { token: limited.token });
  expect([refused.status, refused.body["context"]]).toEqual([
    403,
    { required_scope: "sandboxes:read", organization_id: world.orgId },
  ]);
  const writer = await events.mint({ scopes: ["sandboxes:write"] });
  expect((await world.call("GET", "/v1/events", { token: writer.token })).status).toBe(403);
  const own = await events.after(cursor);
  expect(own.map(({ kind }) => kind)).toContain("host");
  expect(own.map((item) => item.id)).toContain(id);
  expect((await world.call("GET", "/v1/events?kind=secret")).status).toBe(400);
});

test("a token for sandboxes alone is told nothing of snapshots of machines, and the other way round", async () => {
  const { id: sandbox } = await world.createSandbox();
  const { id: machine } = await world.createMachine();
  const cursor = await events.latest();
  const taken: Record<string, string> = {};
  for (const path of [`sandboxes/${sandbox}`, `machines/${machine}`]) {
    const answer = await world.call<{ id: string }>("POST", `/v1/${path}/snapshots`, { body: {} });
    expect(answer.status, answer.text).toBe(201);
    taken[path.split("/")[0] ?? ""] = answer.body.id;
  }
  await world.call("DELETE", `/v1/snapshots/${taken["machines"]}`);
  for (const [noun, other] of [
    ["sandboxes", "machines"],
    ["machines", "sandboxes"],
  ] as const) {
    const { token } = await events.mint({ scopes: [`${noun}:read`] });
    const told = (await events.after(cursor, { token, query: "&kind=snapshot" })).map(({ id }) => id);
    expect(told).toContain(taken[noun]);
    expect(told).not.toContain(taken[other]);
  }
});

test("who may not execute is shown no values of the environment, also where that was taken away while the stream lasted", async () => {
  const members = new Members(world);
  const { user_id, secret: token } = await members.newMember("member");
  await using reader = await EventReader.of(world, "latest", { token });
  const one = await world.createSandbox({ env: { SECRET: "one" } });
  await reader.until(({ known }) => known.has(one.id), "the first is told");
  expect(reader.known.get(one.id)?.resource).toMatchObject({ env: { SECRET: "one" } });
  await world.call("PATCH", `/v1/orgs/${world.orgId}/members/${user_id}`, { body: { role: "viewer" } });
  const viewer = async () => (await world.call<{ role: string }>("GET", "/v1/auth/me", { token })).body.role;
  await eventually(async () => (await viewer()) === "viewer", "the role counts");
  const two = await world.createSandbox({ env: { SECRET: "two" } });
  await reader.until(({ known }) => known.has(two.id), "the second is told");
  expect(reader.known.get(two.id)?.resource).toMatchObject({ env: { SECRET: null } });
});

test("a stream ends with an error the first time that its token is looked at after a revocation", async () => {
  const { id, token } = await events.mint();
  await using reader = await EventReader.of(world, "latest", { token });
  await reader.synced();
  const find = vi.spyOn(world.context.tokenCache, "find");
  onTestFinished(() => find.mockRestore());
  const hash = createHash("sha256").update(token).digest("hex");
  const looks = () => find.mock.calls.filter(([{ secretSha256 }]) => secretSha256 === hash).length;
  // That it looks often enough for what is promised of revocations is in revocation.test.ts.
  await eventually(() => looks() > 0, "the watch looks at its token");
  expect((await world.call("DELETE", `/v1/auth/tokens/${id}`)).status).toBe(204);
  const before = looks();
  await reader.until(({ isOver }) => isOver, "it ends");
  // The watch may look while the stream does so itself, which is about to tell something.
  expect(looks() - before).toBeLessThanOrEqual(2);
  expect(reader.names.at(-1)).toBe("error");
  expect(JSON.parse(reader.told.at(-1)?.data ?? "")).toMatchObject({ code: "unauthorized" });
});

test("a token has eight streams at once, and a place is free again when one ends", async () => {
  const { token } = await events.mint();
  const readers = await Promise.all(
    Array.from({ length: 8 }, () => EventReader.of(world, "latest", { token })),
  );
  await expect(EventReader.of(world, "latest", { token })).rejects.toThrow("too_many_streams");
  await using other = await EventReader.of(world, "latest");
  await other.synced();
  await readers[0]?.[Symbol.asyncDispose]();
  await eventually(async () => {
    const found = await EventReader.of(world, "latest", { token }).catch(() => undefined);
    await found?.[Symbol.asyncDispose]();
    return found !== undefined;
  }, "the place is free");
  for (const reader of readers) await reader[Symbol.asyncDispose]();
});

test("readers of one organization share what is read for them", async () => {
  let reads = 0;
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => {
      if (node.kind === "RawNode" && node.sqlFragments.join("").includes("as changes on true")) reads += 1;
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
  const feed = new EventFeed({ ...world.context, db: world.db.withPlugin(counting) });
  const leaving = new AbortController();
  const scopes: Caller["scopes"] = new Set(["sandboxes:read"]);
  const caller = {
    orgId: world.orgId,
    userId: "",
    tokenId: "",
    role: "viewer",
    scopes,
    auditDetails: false,
  } as const;
  const params = {
    kind: undefined,
    after: undefined,
    gone: leaving.signal,
    confirm: () => Promise.resolve(caller),
  };
  const readers = Array.from({ length: 40 }, () => ({ last: "", known: new Map<string, unknown>() }));
  const done = readers.map(async (reader) => {
    for await (const { event, data } of followEvents(feed, params)) {
      reader.last = event;
      if ("resource" in data) reader.known.set(data.id, data.resource?.status);
    }
  });
  const allAreSynced = (id?: string) =>
    eventually(
      () =>
        readers.every(
          ({ last, known }) => last === "synced" && (id === undefined || known.get(id) === "running"),
        ),
      "all are told",
    );
  await allAreSynced();
  // They may have begun at different moments, and are equally far after the first change that they are told.
  await allAreSynced((await world.createSandbox()).id);
  reads = 0;
  await allAreSynced((await world.createSandbox()).id);
  expect(reads).toBeGreaterThan(0);
  expect(reads).toBeLessThan(readers.length);
  leaving.abort();
  await Promise.allSettled(done);
});
