// What has changed, as `GET /v1/events` tells it: nothing is left out, in whatever order transactions commit.

import fc from "fast-check";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { newId } from "@skerry/contract/ids";
import type { ResourceEvent } from "@skerry/contract/events/resource-event";
import type { Snapshot } from "@skerry/contract/snapshots/snapshot";
import { readEvents } from "../../sdk/src/http/event-stream.ts";
import { EventReader, Events } from "./support/event-readers.ts";
import { openReplica, startControl } from "./support/replica.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
Object.assign(world.host, { memoryMib: 1_000_000, cpus: 1_000 });
const events = new Events(world);

test("each resource that has changed is told once, with its newest state as its own GET answers it", async () => {
  const cursor = await events.latest();
  const sandbox = await world.createSandbox({ env: { A: "b" }, name: "watched" });
  const machine = await world.createMachine();
  await world.call("POST", `/v1/sandboxes/${sandbox.id}/keepalive`, { body: { timeout: "1h" } });
  await world.call("PUT", `/v1/sandboxes/${sandbox.id}/egress`, { body: { mode: "deny_all" } });
  const items = await events.after(cursor, { query: "&kind=sandbox,machine" });
  expect(items.map(({ kind, id }) => [kind, id])).toEqual([
    ["machine", machine.id],
    ["sandbox", sandbox.id],
  ]);
  for (const { kind, id, resource } of items)
    expect(resource).toEqual(
      (await world.call("GET", `/v1/${kind === "sandbox" ? "sandboxes" : "machines"}/${id}`)).body,
    );
});

test("what is deleted for good is told as nothing, and what nobody is shown is not told at all", async () => {
  const { id } = await world.createSandbox();
  const snapshot = (await world.call<Snapshot>("POST", `/v1/sandboxes/${id}/snapshots`, { body: {} })).body;
  const cursor = await events.latest();
  await world.call("DELETE", `/v1/snapshots/${snapshot.id}`);
  await world.call("POST", `/v1/sandboxes/${id}/fork`, { body: { count: 2 } });
  const items = await events.after(cursor, { query: "&kind=snapshot" });
  expect(items).toEqual([{ kind: "snapshot", id: snapshot.id, version: expect.any(Number), resource: null }]);
});

test("a stream tells what changes, says when everything was told, and is gone on from anywhere", async () => {
  await using reader = await EventReader.of(world, "latest");
  await reader.synced();
  const { id } = await world.createSandbox();
  await reader.until(({ known }) => known.has(id), "the sandbox is told");
  await reader.until(({ names }) => names.at(-1) === "synced", "it is synced again");
  const seen = reader.cursor;
  await world.call("DELETE", `/v1/sandboxes/${id}`);
  await reader.until(({ known }) => known.get(id)?.resource?.status === "destroyed", "its end is told");
  // As a browser comes back: to the address that it began with, and with the number of the last event that it has.
  await using again = await EventReader.of(world, "latest", { lastEventId: seen });
  await again.until(({ known }) => known.get(id)?.resource?.status === "destroyed", "its end is told again");
});

test("whatever the order of commits, a reader that goes on from its cursor misses no change", async () => {
  const ids: string[] = [];
  for (let made = 0; made < 6; made += 1) ids.push((await world.createSandbox({ timeout: "1h" })).id);
  const step = fc.record({
    writer: fc.nat(3),
    row: fc.nat(ids.length - 1),
    deed: fc.constantFrom("write", "commit", "abort", "read"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const known = new Map<string, number>();
      const writers = new Map<
        number,
        { query: (id: string) => Promise<unknown>; end: (keep: boolean) => Promise<unknown> }
      >();
      const locked = new Map<string, number>();
      let cursor = await events.latest();
      const read = async () => {
        for (let more = true; more;) {
          const found = await events.page(`?after=${cursor}&kind=sandbox&limit=2`);
          for (const { id, version } of found.items) known.set(id, version);
          ({ cursor, more } = found);
        }
      };
      const end = async (writer: number, keep: boolean) => {
        await writers.get(writer)?.end(keep);
        writers.delete(writer);
        for (const [id, by] of locked) if (by === writer) locked.delete(id);
      };
      const before = await events.versions(ids);
      for (const { writer, row, deed } of steps) {
        const id = ids[row] ?? "";
        if (deed === "read") await read();
        else if (deed !== "write") await end(writer, deed === "commit");
        else if ((locked.get(id) ?? writer) === writer) {
          locked.set(id, writer);
          if (!writers.has(writer)) writers.set(writer, await begun());
          await writers.get(writer)?.query(id);
        }
      }
      for (const writer of [...writers.keys()]) await end(writer, true);
      await events.untilAllIsTold();
      await read();
      const after = await events.versions(ids);
      for (const id of ids) if (after.get(id) !== before.get(id)) expect(known.get(id)).toBe(after.get(id));
    }),
    { numRuns: 25, endOnFailure: true },
  );
});

/** A transaction that changes rows, and ends when it is told. */
async function begun() {
  const transaction = await world.db.startTransaction().execute();
  return {
    query: (id: string) =>
      sql`update sandboxes set version = version + 1 where id = ${id}`.execute(transaction),
    end: (keep: boolean) => (keep ? transaction.commit() : transaction.rollback()).execute(),
  };
}

test("readers of streams on two replicas end with what there is, while many write at once", async () => {
  await using replica = await openReplica(world);
  await using one = await EventReader.of(world, "latest");
  await using other = await EventReader.of(world, "latest", { url: replica.url });
  const made = await Promise.all(Array.from({ length: 12 }, () => world.createSandbox()));
  await Promise.all(made.slice(0, 6).map(({ id }) => world.call("DELETE", `/v1/sandboxes/${id}`)));
  const after = await events.versions(made.map(({ id }) => id));
  for (const reader of [one, other])
    await reader.until(
      ({ known }) => made.every(({ id }) => known.get(id)?.version === after.get(id)),
      "all is told",
    );
});

test("a client whose replica dies goes on at another one, where it left off", async () => {
  await using dying = await startControl(world, { SKERRY_LOG_LEVEL: "info" });
  await using reader = await EventReader.of(world, "latest", { url: dying.url });
  const first = await world.createSandbox();
  await reader.until(({ known }) => known.has(first.id), "the first is told");
  await dying.kill();
  await reader.until(({ isOver }) => isOver, "the stream is cut off");
  const second = await world.createSandbox();
  await using again = await EventReader.of(world, reader.cursor);
  await again.until(({ known }) => known.has(second.id), "the second is told");
});

test("a client that does not read holds up nobody, is kept nothing for, and is told the newest state when it reads on", async () => {
  const ids = await large(120);
  const response = await fetch(`${world.url}/v1/events?after=latest&kind=sandbox`, {
    headers: { authorization: `Bearer ${world.token}`, accept: "text/event-stream" },
  });
  if (response.body === null) throw new Error("an answer without a body");
  const slow = readEvents(response.body);
  expect((await slow.next()).value).toMatchObject({ event: "synced" });
  await using quick = await EventReader.of(world, "latest", { query: "&kind=sandbox" });
  await quick.synced();
  // Either time more than all buffers on the way to a client hold.
  for (let round = 0; round < 2; round += 1) {
    await sql`update sandboxes set version = version + 1 where id = any(${ids}::text[])`.execute(world.db);
    const now = await events.versions(ids);
    await quick.until(({ known }) => ids.every((id) => known.get(id)?.version === now.get(id)), "it is told");
  }
  const newest = await events.versions(ids);
  const known = new Map<string, number>();
  let told = 0;
  for await (const { event, data } of slow) {
    if (event !== "sandbox") continue;
    const { id, version } = JSON.parse(data) as ResourceEvent;
    known.set(id, version);
    told += 1;
    if (ids.every((one) => known.get(one) === newest.get(one))) break;
  }
  expect(told).toBeLessThan(2 * ids.length);
});

/** Sandboxes that are told in some 200 kB each. */
async function large(count: number): Promise<string[]> {
  const { id } = await world.createSandbox({ timeout: "1h" });
  const ids = Array.from({ length: count }, () => newId("sandbox"));
  const row = await world.db
    .selectFrom("sandboxes")
    .selectAll()
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  const { org_id, template, mode, size, vcpus, memory_mib, disk_gib, host_id, timeout_ms, execution_id } =
    row;
  const text = {
    metadata: JSON.stringify({ long: "x".repeat(200_000) }),
    env: "{}",
    egress: JSON.stringify(row.egress),
  };
  const like = {
    org_id,
    template,
    mode,
    size,
    vcpus,
    memory_mib,
    disk_gib,
    host_id,
    timeout_ms,
    execution_id,
  };
  await world.db
    .insertInto("sandboxes")
    .values(
      ids.map((one) => ({
        ...like,
        ...text,
        id: one,
        status: "failed" as const,
        expires_at: row.expires_at,
      })),
    )
    .execute();
  return ids;
}

test("a cursor that is too old, or of another database, is told to begin anew and where", async () => {
  const cursor = await events.latest();
  const [database, xid, seq, at] = cursor.split(".");
  const old = [database, xid, seq, Number(at) - 25 * 3_600].join(".");
  const restored = ["00000000", xid, seq, at].join(".");
  const ahead = [database, "9000000000000000000", seq, at].join(".");
  for (const [stale, reason] of [
    [old, "too_old"],
    [restored, "other_database"],
    [ahead, "other_database"],
  ] as const) {
    const found = await events.page(`?after=${stale}`);
    expect(found).toMatchObject({ items: [], more: false, reset: reason });
    await using reader = await EventReader.of(world, stale);
    await reader.synced();
    expect(reader.names.slice(0, 2)).toEqual(["reset", "synced"]);
    expect(JSON.parse(reader.told[0]?.data ?? "")).toMatchObject({ reason, cursor: expect.any(String) });
    const { id } = await world.createSandbox();
    await reader.until(({ known }) => known.has(id), "it goes on from there");
  }
  for (const wrong of ["x", `${cursor}'`, "a.b.c.d", `${database}.-1.0.0`])
    expect((await world.call("GET", `/v1/events?after=${encodeURIComponent(wrong)}`)).status).toBe(400);
});
