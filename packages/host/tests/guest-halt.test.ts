// A guest that is put to rest on a slow disk: its QEMU writes the disk out first, and answers nobody meanwhile.

import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { encodeFrame, encodeJson, frameTypes } from "@skerry/contract/frames";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Qmp } from "../src/vm/qemu/qmp.ts";
import { GuestHalt } from "../src/vm/lifecycle/guest-halt.ts";
import { FakeGuest } from "./support/fake-guest.ts";
import { FakeQemu } from "./support/fake-qemu.ts";

/** Longer than who asks a QEMU waits for its answer. */
const SLOW_MS = 30_000;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp("/tmp/skerry-unit-rest-");
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

test("who wants something of a guest whose disk is slow waits for it, and gets it", async () => {
  await using guest = await FakeGuest.start();
  await using qemu = await FakeQemu.listen(join(folder, "qmp.sock"));
  const qmp = await Qmp.connect(join(folder, "qmp.sock"), AbortSignal.timeout(5_000));
  const { channel, peer } = await guest.greeted();
  const written = Promise.withResolvers<void>();
  qemu.before = async (command) => (command === "stop" ? written.promise : undefined);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const guestHalt = new GuestHalt({ qmp, channel }, pino({ level: "silent" }), { atOnce: false });
  vi.advanceTimersByTime(SLOW_MS);
  await peer.close((await peer.opened()).id, { idle: true });
  await expect.poll(() => qemu.told).toContain("stop");
  vi.advanceTimersByTime(SLOW_MS);
  const use = guestHalt.use();
  await expect.poll(() => qemu.told).toContain("cont");
  vi.advanceTimersByTime(SLOW_MS);
  written.resolve();
  await peer.close((await peer.opened()).id, {}); // it is woken
  using _awake = await use;
  channel.close("the test is over");
  qmp.close();
});

test("a guest in which nothing has run can be put to rest without being asked, and is woken by whoever comes", async () => {
  await using guest = await FakeGuest.start();
  await using qemu = await FakeQemu.listen(join(folder, "qmp.sock"));
  const qmp = await Qmp.connect(join(folder, "qmp.sock"), AbortSignal.timeout(5_000));
  const { channel, peer } = await guest.greeted();
  const guestHalt = new GuestHalt({ qmp, channel }, pino({ level: "silent" }), { atOnce: true });
  await expect.poll(() => qemu.told).toContain("stop");
  const use = guestHalt.use();
  await peer.close((await peer.opened()).id, {}); // it is woken
  using _awake = await use;
  expect(qemu.told.filter((command) => ["stop", "cont"].includes(command))).toEqual(["stop", "cont"]);
  channel.close("the test is over");
  qmp.close();
});

test("a guest at rest whose state was saved runs for a moment, and is at rest again", async () => {
  await using guest = await FakeGuest.start();
  await using qemu = await FakeQemu.listen(join(folder, "qmp.sock"));
  const qmp = await Qmp.connect(join(folder, "qmp.sock"), AbortSignal.timeout(5_000));
  const { channel } = await guest.greeted();
  const guestHalt = new GuestHalt({ qmp, channel }, pino({ level: "silent" }), { atOnce: true });
  await expect.poll(() => qemu.told).toContain("stop");
  const standstill = await guestHalt.standStill();
  await standstill.goOn();
  expect(qemu.told.filter((command) => ["stop", "cont"].includes(command))).toEqual(["stop", "cont", "stop"]);
  channel.close("the test is over");
  qmp.close();
});

test("a move has what could last for ever leave the guest, and waits until it has", async () => {
  await using guest = await FakeGuest.start();
  await using _qemu = await FakeQemu.listen(join(folder, "qmp.sock"));
  const qmp = await Qmp.connect(join(folder, "qmp.sock"), AbortSignal.timeout(5_000));
  const { channel } = await guest.greeted();
  const guestHalt = new GuestHalt({ qmp, channel }, pino({ level: "silent" }), { atOnce: false });
  const told = Promise.withResolvers<void>();
  const reader = await guestHalt.useUntilHeld(() => told.resolve());
  const gone = await guestHalt.useUntilHeld(() => expect.unreachable("it has left before"));
  gone[Symbol.dispose]();
  const holding = guestHalt.hold({ patienceMs: 0, signal: AbortSignal.timeout(5_000) });
  await told.promise;
  reader[Symbol.dispose]();
  (await holding).release();
  channel.close("the test is over");
  qmp.close();
});

/** What an agent tells of an execution. */
function execution(ended: boolean): object {
  return {
    ...{ execution: "exe_1", command: "make", tty: false, stdin: false, timeout_ms: 0, reattach_ms: -1 },
    ...{ duration_ms: 1, at: 0, from: 0, position: 0, ended },
    ...{ exit_code: 0, signal: 0, cpu_ms: 0, memory_peak_bytes: 0 },
  };
}

test("a guest is unused from its last operation on, and while an execution runs in it, it is in use", async () => {
  await using guest = await FakeGuest.start();
  await using _qemu = await FakeQemu.listen(join(folder, "qmp.sock"));
  const qmp = await Qmp.connect(join(folder, "qmp.sock"), AbortSignal.timeout(5_000));
  const { channel, peer } = await guest.greeted();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const guestHalt = new GuestHalt({ qmp, channel }, pino({ level: "silent" }), { atOnce: false });
  /** The host asks when the time has come, and hears that a process is left, and whether it is one of an execution. */
  const asked = async (afterMs: number, { runs }: { readonly runs: boolean }): Promise<void> => {
    vi.advanceTimersByTime(afterMs);
    await peer.close((await peer.opened()).id, { idle: false });
    const { id, operation } = await peer.opened();
    expect(operation).toEqual({ op: "executions" });
    await peer.send(
      encodeFrame(frameTypes.data, id, Buffer.from(`${JSON.stringify(execution(!runs))}\n`)),
      encodeJson(frameTypes.close, id, {}),
    );
  };
  /** Resolves when an answer has arrived that changes whether it is in use. */
  const known = (isUnused: boolean) => expect.poll(() => guestHalt.unusedMs !== undefined).toBe(isUnused);
  // Unknown, until the guest has been asked.
  expect(guestHalt.unusedMs).toBeUndefined();
  await asked(3_000, { runs: false });
  await known(true);
  const use = await guestHalt.use();
  expect(guestHalt.unusedMs).toBeUndefined();
  use[Symbol.dispose]();
  const releasedMs = performance.now();
  expect(guestHalt.unusedMs).toBeUndefined();
  while (performance.now() < releasedMs + 200) await new Promise((resolve) => setImmediate(resolve));
  const answeredMs = performance.now();
  await asked(3_000, { runs: false });
  await known(true);
  // Since the operation, and not since the answer.
  expect(guestHalt.unusedMs).toBeGreaterThanOrEqual(answeredMs - releasedMs);
  await asked(6_000, { runs: true });
  await known(false);
  const seenMs = performance.now();
  await asked(12_000, { runs: false });
  await known(true);
  // It has ended since the last question, so that is the last use.
  expect(guestHalt.unusedMs).toBeLessThanOrEqual(performance.now() - seenMs);
  channel.close("the test is over");
  qmp.close();
});
