// What rules refuse is counted by the kernel, and told by VM and minute.

import { afterAll, beforeAll, expect, test } from "vitest";
import { join } from "node:path";
import { DenialCounts, type CountedVm } from "../src/network/denial-counts.ts";
import { NO_EGRESS } from "../src/network/egress-loader.ts";
import { layWire, type Wire } from "./support/wire.ts";

let wire: Wire;
beforeAll(async () => {
  wire = await layWire("n");
  await wire.rules.load(wire.slot, NO_EGRESS);
});
afterAll(() => wire?.stop());

const MINUTE_MS = 60_000;
const STARTED = 1_000;
const failures: unknown[] = [];

function counts(startTicks = STARTED): DenialCounts {
  const log = { debug: (failure: unknown) => void failures.push(failure) };
  return new DenialCounts({ program: join(wire.nativeFolder, "slot-denials"), startTicks, log });
}

const vm = (changed: Partial<CountedVm> = {}): CountedVm => ({
  ...{ id: "sbx_1", netnsFile: wire.slot.netnsFile, startTicks: STARTED + 1 },
  ...changed,
});

/** Packets by id, over all minutes. */
function told(of: DenialCounts): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { id, packets } of of.since(0).items) sums[id] = (sums[id] ?? 0) + packets;
  return sums;
}

const refused = () => wire.guest("echo x >/dev/udp/192.0.2.9/9");

test("each refused packet is told once, in its minute, and what passes is not", async () => {
  const all = counts();
  await all.round(() => [vm()]);
  const before = told(all)["sbx_1"] ?? 0;
  await refused();
  await refused();
  await all.round(() => [vm()]);
  await all.round(() => [vm()]);
  expect(told(all)["sbx_1"]).toBe(before + 2);
  const minute = Math.floor(Date.now() / MINUTE_MS);
  for (const item of all.since(0).items) expect([minute - 1, minute]).toContain(item.minute);
  expect(all.since(minute + 1)).toEqual({ items: [] });
  await wire.rules.replace(wire.slot, { ...NO_EGRESS, mode: "allow_all" });
  expect(await wire.guest(`exec 3<>/dev/tcp/${wire.world}/80 && echo hello >&3 && head -n 1 <&3`)).toBe(
    "hello\n",
  );
  await all.round(() => [vm()]);
  expect(told(all)["sbx_1"]).toBe(before + 2);
  await wire.rules.replace(wire.slot, NO_EGRESS);
});

test("what is refused just before a VM ends counts, once, also where a round comes after", async () => {
  const all = counts();
  await all.round(() => [vm()]);
  const before = told(all)["sbx_1"] ?? 0;
  await refused();
  await Promise.all([all.last(vm()), all.round(() => [])]);
  expect(told(all)["sbx_1"]).toBe(before + 1);
});

test("of a VM that an earlier host process started counts what comes now", async () => {
  const all = counts();
  const adopted = vm({ id: "sbx_2", startTicks: STARTED - 1 });
  await all.round(() => [adopted]);
  expect(told(all)).toEqual({});
  await refused();
  await all.round(() => [adopted]);
  expect(told(all)).toEqual({ sbx_2: 1 });
});

test("a slot that has gone, and one without the counter, keep nothing from the others", async () => {
  const all = counts();
  const gone = vm({ id: "sbx_3", netnsFile: "/run/netns/not-there" });
  const bare = vm({ id: "sbx_4", netnsFile: `/proc/${process.pid}/ns/net` });
  await all.round(() => [gone, vm(), bare]);
  expect(Object.keys(told(all))).toEqual(["sbx_1"]);
  expect(failures).toEqual([]);
});

test("where the program cannot run, nothing is told, and nothing breaks", async () => {
  const none = new DenialCounts({
    ...{ program: join(wire.nativeFolder, "not-there"), startTicks: STARTED },
    log: { debug: (failure: unknown) => void failures.push(failure) },
  });
  await none.round(() => [vm()]);
  await none.last(vm());
  expect([none.since(0), failures.splice(0).length]).toEqual([{ items: [] }, 2]);
});
