import { setImmediate as loopTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { EncodingTurns } from "../src/vms/execute/encoding-turns.ts";

/** Encodes so many pieces for an organization and writes down whose they were. */
async function encode(turns: EncodingTurns, orgId: string, pieces: number, log: string[]): Promise<void> {
  for (let piece = 0; piece < pieces; piece += 1) {
    await turns.next(orgId);
    log.push(orgId);
  }
}

test("the event loop turns while answers are encoded, however many there are", async () => {
  const turns = new EncodingTurns();
  const log: string[] = [];
  let ended = false;
  const answers = Promise.all(Array.from({ length: 24 }, () => encode(turns, "org_a", 50, log))).then(
    () => (ended = true),
  );
  let most = 0;
  while (!ended) {
    const before = log.length;
    await loopTurn();
    most = Math.max(most, log.length - before);
  }
  await answers;
  expect(log).toHaveLength(24 * 50);
  // Those of the turn of the loop that ends, and those of the one that begins.
  expect(most).toBeLessThanOrEqual(8);
});

test("one answer of an organization is encoded as fast beside 24 of another one as beside one", async () => {
  const turns = new EncodingTurns();
  const log: string[] = [];
  const greedy = Array.from({ length: 24 }, () => encode(turns, "org_greedy", 100, log));
  await encode(turns, "org_other", 100, log);
  expect(log.filter((orgId) => orgId === "org_greedy").length).toBeLessThanOrEqual(100 + 8);
  await Promise.all(greedy);
});

test("an answer that is alone waits only for the loop", async () => {
  const turns = new EncodingTurns();
  const log: string[] = [];
  await encode(turns, "org_a", 4, log);
  const before = log.length;
  const rest = encode(turns, "org_a", 4, log);
  await loopTurn();
  await loopTurn();
  expect(log.length - before).toBe(4);
  await rest;
});
