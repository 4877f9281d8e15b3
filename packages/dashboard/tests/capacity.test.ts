import { expect, test } from "vitest";
import { Host } from "@skerry/contract/hosts/host";
import { Move } from "@skerry/contract/moves/move";
import { exampleOf } from "@skerry/contract/named";
import { sizes } from "@skerry/contract/sizes";
import { drainOf } from "../src/hosts/drain.ts";
import { fitsText, whatFits } from "../src/hosts/room.ts";

const beganMs = Date.parse("2026-11-20T18:00:00.000Z");
const after = (s: number) => new Date(beganMs + s * 1_000).toISOString();

const host = (changed: Partial<Host>): Host => ({
  ...exampleOf(Host),
  capacity: { cpus: 2, vcpus: 32, memory_mib: 4_096 },
  used: { vcpus: 4, memory_mib: 1_024, vms: 4 },
  ...changed,
});
const draining = host({ status: "draining", desired: "drained", status_since: after(0) });
const move = (status: Move["status"], s: number, from = draining.id): Move => ({
  ...exampleOf(Move),
  ...{ id: `mov_${status}${s}`, status, status_since: after(s), from_host_id: from },
});

test("what still fits is what both memory and vCPUs leave, on hosts that take something", () => {
  const fits = (hosts: readonly Host[]) =>
    Object.fromEntries(whatFits(hosts, sizes).map(({ size, count }) => [size, count]));
  const one = host({});
  expect(fits([one])).toEqual({
    ...{ "shared-cpu-1x": 12, "shared-cpu-2x": 6, "shared-cpu-4x": 3, "shared-cpu-8x": 1 },
    "performance-1x": 1,
  });
  expect(fits([one, one])["shared-cpu-1x"]).toBe(24);
  const scarce = host({ used: { vcpus: 30, memory_mib: 0, vms: 30 } });
  expect(fits([scarce])).toEqual({
    "shared-cpu-1x": 2,
    "shared-cpu-2x": 1,
    "performance-1x": 2,
    "performance-2x": 1,
  });
  const silent = host({ waits_for: "what it came back with is not all in its place yet" });
  for (const none of [draining, silent, host({ status: "offline" }), host({ desired: "drained" })])
    expect(fits([none])).toEqual({});
  expect(fitsText(whatFits([draining], sizes))).toBe("nothing");
});

test("a drain counts what is left, what travels and what has arrived since it began", () => {
  expect(drainOf(host({}), [move("done", 10)])).toBeUndefined();
  const moves = [
    ...[move("done", 10), move("done", 20), move("sending", 21), move("preparing", 22)],
    // Of another host, and of the drain before; one that is its target's already; one that came to nothing.
    ...[move("done", 15, "hst_other"), move("done", -60), move("resuming", 23), move("failed", 19)],
  ];
  expect(drainOf(draining, moves)).toEqual({ left: 4, travelling: 2, done: 2, aboutMs: 40_000 });
});

test("how long it takes is said only where something has arrived, nothing waits and something is left", () => {
  expect(drainOf(draining, [move("sending", 2)])?.aboutMs).toBeUndefined();
  expect(drainOf({ ...draining, waits_for: "room" }, [move("done", 2)])?.aboutMs).toBeUndefined();
  expect(
    drainOf({ ...draining, used: { vcpus: 0, memory_mib: 0, vms: 0 } }, [move("done", 2)])?.aboutMs,
  ).toBeUndefined();
});
