import { pino } from "pino";
import { afterEach, expect, test, vi } from "vitest";
import { keepTime } from "../src/vm/lifecycle/guest-clock.ts";
import { FakeGuest, type Peer } from "./support/fake-guest.ts";

const log = pino({ level: "silent" });
const INTERVAL_MS = 5 * 60_000;

afterEach(() => {
  vi.useRealTimers();
});

/** Answers the next question of a guest whose clock is wrong by so much, and tells by how much it was to be moved. */
async function answer(peer: Peer, strayUs: number): Promise<unknown> {
  const { id, operation } = await whileTimePasses(peer.opened());
  expect(operation["op"]).toBe("clock");
  await peer.close(id, { clock_us: Date.now() * 1_000 + strayUs });
  return operation["adjust_us"];
}

/** Turns the faked timers on until it has come. */
async function whileTimePasses<T>(awaited: Promise<T>): Promise<T> {
  const over = new AbortController();
  const turn = async (): Promise<void> => {
    while (!over.signal.aborted) {
      vi.advanceTimersByTime(INTERVAL_MS);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const turning = turn();
  try {
    return await awaited;
  } finally {
    over.abort();
    await turning;
  }
}

async function keptTime(guestHalt = { isStill: false }) {
  const guest = await FakeGuest.start();
  const { channel, peer } = await guest.greeted();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  keepTime(channel, guestHalt, log);
  return {
    peer,
    async [Symbol.asyncDispose]() {
      channel.close("the test is over");
      await guest[Symbol.asyncDispose]();
    },
  };
}

test("a guest whose clock goes wrong is told by how much", async () => {
  await using kept = await keptTime();
  expect(await answer(kept.peer, 40_000_000)).toBe(0);
  const moved = Number(await answer(kept.peer, 0));
  // The question may take a while on a busy machine, and is believed to half of that.
  expect(moved).toBeLessThan(-30_000_000);
  expect(moved).toBeGreaterThan(-50_000_000);
});

test("a clock that is right is left alone, and asked again later", async () => {
  await using kept = await keptTime();
  expect(await answer(kept.peer, 0)).toBe(0);
  expect(await answer(kept.peer, 0)).toBe(0);
});

test("a guest that stands still is not asked: it would read the question when it goes on, and not before", async () => {
  const guestHalt = { isStill: true };
  await using kept = await keptTime(guestHalt);
  const asked = kept.peer.opened();
  let wasAsked = false;
  void asked.then(() => (wasAsked = true));
  for (let turn = 0; turn < 50; turn += 1) {
    vi.advanceTimersByTime(INTERVAL_MS);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(wasAsked).toBe(false);
  guestHalt.isStill = false;
  expect((await whileTimePasses(asked)).operation["op"]).toBe("clock");
});
