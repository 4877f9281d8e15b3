// Pauses for which the guest writes its disk out first: it answers in its own time, or not at all.

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PauseRequests, type PauseRequestsOptions } from "../src/vm/saved/pause-requests.ts";
import { KeyedQueue } from "../src/system/keyed-queue.ts";
import { VmTable, type Running } from "../src/vm/lifecycle/vm-table.ts";
import { FakeGuest } from "./support/fake-guest.ts";
import { recordIn } from "./support/records.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-pause-");
});
afterEach(() => rm(folder, { recursive: true }));

async function running(guest: FakeGuest) {
  const { channel, peer } = await guest.greeted();
  const record = recordIn(folder, "sbx_1");
  await mkdir(record.folder, { recursive: true });
  const told: string[] = [];
  const guestHalt = {
    unusedMs: undefined,
    use: async () => {
      told.push("wake");
      return { [Symbol.dispose]: () => void told.push("rest") };
    },
    standStill: async () => {
      told.push("stop");
      throw new Error("what comes from here on is not of this test");
    },
  };
  const table = new VmTable();
  const live = { channel, qmp: { close: () => undefined } };
  const entry = { state: "running", record, live, guestHalt, main: undefined } as unknown as Running;
  table.set(entry);
  const lifecycle = {
    requireOpen: () => undefined,
    whyFailed: async (_entry: Running, error: unknown) => error,
  };
  const options = { table, slotWork: new KeyedQueue(), resources: {}, lifecycle };
  const requests = new PauseRequests(options as unknown as PauseRequestsOptions);
  return { requests, peer, table, entry, told, channel };
}

const order = { execution_id: "exe_1", sync: true } as const;
const synced = { exit_code: 0, duration_ms: 1, signal: 0, cpu_ms: 1, memory_peak_bytes: 1 };

test("a guest at rest is woken to write its disk out, and a refusal of it is told", async () => {
  await using guest = await FakeGuest.start();
  const { requests, peer, told, channel } = await running(guest);
  const pause = requests.pause("sbx_1", order);
  const { id, operation } = await peer.opened();
  expect([operation["command"], told]).toEqual(["sync", ["wake"]]);
  await peer.close(id, { ...synced, exit_code: 127 });
  await expect(pause).rejects.toMatchObject({ code: "guest_failed" });
  expect(told).toEqual(["wake", "rest"]);
  channel.close("the test is over");
});

test("an order that comes twice while the guest writes its disk out is one pause: the second saves nothing over what the first has saved", async () => {
  await using guest = await FakeGuest.start();
  const { requests, peer, table, entry, told, channel } = await running(guest);
  const second = requests.pause("sbx_1", order);
  const { id } = await peer.opened();
  // The first one has paused it by now.
  const record = { ...entry.record, status: "paused" as const };
  entry.ending = Promise.resolve();
  table.set({ state: "ended", record });
  await peer.close(id, synced);
  expect(await second).toMatchObject({ id: "sbx_1", status: "paused" });
  expect(told).not.toContain("stop");
  channel.close("the test is over");
});
