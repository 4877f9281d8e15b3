// How machines have ended, and when they ran again.

import { sql } from "kysely";
import { beforeEach, expect, test } from "vitest";
import { SkerryError } from "@skerry/contract/errors";
import type { Vm } from "@skerry/contract/host-api/vm";
import type { MachineEndList } from "@skerry/contract/machines/machine-end";
import { expiredRowsSweeper } from "../src/platform/expired-rows-sweeper.ts";
import { MachineUpkeep } from "./support/machine-upkeep.ts";
import { useWorld } from "./support/world.ts";

const world = useWorld();
let upkeep: MachineUpkeep;
beforeEach(() => {
  upkeep = new MachineUpkeep(world);
});

async function restarts(id: string, query = ""): Promise<MachineEndList> {
  const answer = await world.call<MachineEndList>("GET", `/v1/machines/${id}/restarts${query}`);
  expect(answer.status).toBe(200);
  return answer.body;
}

async function endAndRestart(id: string, how: Pick<Vm, "cause" | "exit">): Promise<void> {
  world.host.end(id, null, how);
  await upkeep.cleanUp();
  await upkeep.allDue();
  await upkeep.startWaiting();
}

const exited = (exit_code: number, signal = 0) =>
  ({ cause: "main_exited", exit: { exit_code, signal, oom_killed: false } }) as const;

test("each end is told with what ended it and when the machine ran again, newest first", async () => {
  const { id } = await world.createMachine({ name: "web" });
  expect((await restarts(id)).items).toEqual([]);
  await endAndRestart(id, exited(3));
  await endAndRestart(id, exited(137, 9));
  await endAndRestart(id, { cause: "out_of_memory", exit: { exit_code: 137, signal: 9, oom_killed: true } });
  const { items } = await restarts("web");
  expect(items).toMatchObject([
    { cause: "out_of_memory", exit_code: 137, signal: "SIGKILL", out_of_memory: true },
    { cause: "main_exited", exit_code: 137, signal: "SIGKILL", out_of_memory: false },
    { cause: "main_exited", exit_code: 3, signal: null, reason: "the main process exited with 3" },
  ]);
  for (const { ended_at, restarted_at } of items)
    expect(Date.parse(restarted_at ?? "")).toBeGreaterThanOrEqual(Date.parse(ended_at));
  const first = await restarts(id, "?limit=2");
  expect([first.items.length, (await restarts(id, `?limit=2&cursor=${first.next_cursor}`)).items]).toEqual([
    2,
    items.slice(2),
  ]);
});

test("one that waits for its next start, or is given up, has not run again", async () => {
  const { id } = await world.createMachine({ restart: { max_retries: 1 } });
  world.host.end(id, null, exited(1));
  await upkeep.cleanUp();
  expect((await restarts(id)).items).toMatchObject([{ exit_code: 1, restarted_at: null }]);
  world.host.failures.set("start", new SkerryError("guest_failed", "no"));
  await upkeep.allDue();
  await upkeep.startWaiting();
  world.host.failures.delete("start");
  const { items } = await restarts(id);
  expect(items).toMatchObject([
    { cause: "start_failed", exit_code: null, restarted_at: null },
    { cause: "main_exited", restarted_at: null },
  ]);
  expect(items[0]?.reason).toMatch(/^could not start: no; it is not started again/);
  expect((await world.call("POST", `/v1/machines/${id}/start`)).status).toBe(200);
  const again = (await restarts(id)).items.map(({ restarted_at }) => restarted_at);
  expect([again.length, again.includes(null), new Set(again).size]).toEqual([2, false, 1]);
});

test("what was asked for is no restart: a stop, a start, a restart and a creation that fails", async () => {
  const { id } = await world.createMachine();
  for (const act of ["stop", "start", "restart"])
    expect((await world.call("POST", `/v1/machines/${id}/${act}`)).status).toBe(200);
  expect((await restarts(id)).items).toEqual([]);
  world.host.failures.set("start", new SkerryError("guest_failed", "no"));
  await world.call("POST", "/v1/machines", { body: { template: "base", name: "never" } });
  world.host.failures.delete("start");
  const { rows } = await sql<{ id: string }>`select id from machines where name = 'never'`.execute(world.db);
  expect((await restarts(rows[0]?.id ?? "")).items).toEqual([]);
});

test("of a machine that ends for ever the last hundred are kept, and none for longer than three months", async () => {
  const { id } = await world.createMachine({ restart: { policy: "always", max_retries: 1_000 } });
  await sql`
    insert into machine_ends (id, machine_id, cause, reason)
    select new_event_id(clock_timestamp()), ${id}, 'unknown', 'old' from generate_series(1, 150)`.execute(
    world.db,
  );
  await endAndRestart(id, exited(1));
  const all = await restarts(id, "?limit=500");
  expect([all.items.length, all.items[0]?.exit_code]).toEqual([100, 1]);
  await sql`
    update machine_ends set ended_at = now() - interval '91 days' where machine_id = ${id} and reason = 'old'`.execute(
    world.db,
  );
  await expiredRowsSweeper(world.context, 1_000).activate(new AbortController().signal);
  expect((await restarts(id)).items).toHaveLength(1);
});
