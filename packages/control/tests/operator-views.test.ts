// What the operator sees of the platform's own work: moves and background services.

import { sql } from "kysely";
import { expect, test } from "vitest";
import { newId } from "@skerry/contract/ids";
import type { Move } from "@skerry/contract/moves/move";
import type { MoveStatus } from "@skerry/contract/moves/move-status";
import type { BackgroundService } from "@skerry/contract/platform/background-service";
import { Leases } from "../src/background/lease.ts";
import { Events } from "./support/event-readers.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
const events = new Events(world);

async function moveOf(vm: string, status: MoveStatus): Promise<string> {
  const id = newId("move");
  await sql`
    insert into moves (id, vm_id, from_host_id, to_host_id, from_execution_id, to_execution_id, ticket, vcpus, memory_mib, status)
    select ${id}, ${vm}, id, id, '', '', 'secret', 1, 256, ${status} from hosts limit 1`.execute(world.db);
  return id;
}

test("moves are listed newest first, by status, host and VM, page by page, and followed; their tickets are told to no caller", async () => {
  const cursor = await events.latest();
  const [one, other] = [newId("sandbox"), newId("machine")];
  const ids = [await moveOf(one, "failed"), await moveOf(other, "sending"), await moveOf(one, "done")];
  const listed = async (query = "") => {
    const answer = await world.call<{ items: Move[]; next_cursor: string | null }>(
      "GET",
      `/v1/moves${query}`,
    );
    expect(answer.status, answer.text).toBe(200);
    expect(answer.text).not.toContain("secret");
    return answer.body;
  };
  const found = async (query: string) => (await listed(query)).items.map(({ id }) => id).toSorted();
  expect(await found("")).toEqual(ids.toSorted());
  expect(await found("?status=sending")).toEqual([ids[1]]);
  expect(new Set(await found(`?vm=${one}`))).toEqual(new Set([ids[0], ids[2]]));
  const host = (await listed()).items[0]?.from_host_id ?? "";
  expect(await found(`?host=${host}&status=done`)).toEqual([ids[2]]);
  expect(await found(`?host=${newId("host")}`)).toEqual([]);
  const first = await listed("?limit=2");
  const rest = await listed(`?limit=2&cursor=${first.next_cursor}`);
  expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(ids.toSorted().toReversed());
  expect(rest.next_cursor).toBeNull();
  const answer = await world.call<Move>("GET", `/v1/moves/${ids[1]}`);
  expect(answer.body).toMatchObject({ id: ids[1], vm_id: other, status: "sending", memory_mib: 256 });
  for (const wrong of [newId("move"), "x"])
    expect((await world.call("GET", `/v1/moves/${wrong}`)).body["code"]).toBe("move_not_found");
  const told = await events.after(cursor, { query: "&kind=move" });
  expect(told.map(({ id }) => id)).toEqual(ids);
  expect(told[1]?.resource).toEqual(answer.body);
  await sql`delete from moves`.execute(world.db);
});

async function services(): Promise<readonly BackgroundService[]> {
  const answer = await world.call<{ items: BackgroundService[] }>("GET", "/v1/background-services");
  return answer.body.items;
}

test("background services say when they have run and what came of it, without internal text, and are followed", async () => {
  expect((await services()).map(({ name }) => name)).toEqual(world.context.serviceNames);
  const leases = new Leases(world.db, "here:1");
  const stop = new AbortController().signal;
  const take = async (name: string) => {
    const lease = await leases.take(name, { held: undefined }, stop);
    if ("waitMs" in lease) throw new Error("it is not due");
    return lease;
  };
  const find = async (name: string) => (await world.call("GET", `/v1/background-services/${name}`)).body;
  const cursor = await events.latest();
  using running = await take("mover");
  expect(await find("mover")).toMatchObject({ status: "running", last_run: null });
  await running.finish({ duration_ms: 3, examined: 2, changed: 1, failed: 0 }, 3_600_000);
  const done = await find("mover");
  expect(done).toMatchObject({
    status: "waiting",
    last_run: { outcome: "success", examined: 2, changed: 1 },
  });
  using failing = await take("sweeper");
  await failing.finish({ duration_ms: 3, error: "select secret from somewhere" }, 3_600_000);
  expect(await find("sweeper")).toMatchObject({ last_run: { outcome: "failure", examined: null } });
  expect(JSON.stringify(await services())).not.toContain("secret");
  const told = await events.after(cursor, { query: "&kind=background_service" });
  expect(told.map(({ id }) => id)).toEqual(["mover", "sweeper"]);
  expect(told[0]?.resource).toEqual(done);
});

test("the operator has a background service run now, and one that does not exist is named", async () => {
  world.rung.length = 0;
  const answer = await world.call("POST", "/v1/background-services/sandbox-reaper/run");
  expect([answer.status, answer.body["name"]]).toEqual([200, "sandbox-reaper"]);
  expect(world.rung).toEqual(["sandbox-reaper"]);
  const wrong = await world.call("POST", "/v1/background-services/reaper/run");
  expect([wrong.status, wrong.body["code"]]).toEqual([404, "service_not_found"]);
  expect(world.rung).toEqual(["sandbox-reaper"]);
});
