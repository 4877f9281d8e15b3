import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { LineMerge } from "../src/apps/logs/line-merge.ts";

interface Item {
  readonly atMs: number;
  readonly chars: number;
  readonly name: string;
}
const item = (name: string, atMs: number, chars = 1): Item => ({ name, atMs, chars });
const never = new AbortController().signal;
const later = (): number => performance.now() + 60_000;

async function taken(merge: LineMerge<Item>, count: number): Promise<string[]> {
  const names: string[] = [];
  while (names.length < count) names.push((await merge.next(later(), never))?.item.name ?? "");
  return names;
}

test("items of several lanes come by their times, and those of one in their order", async () => {
  const merge = new LineMerge<Item>();
  for (const [lane, items] of Object.entries({
    a: [item("a1", 10), item("a2", 5), item("a3", 40)],
    b: [item("b1", 7), item("b2", 30)],
  }))
    for (const one of items) void merge.push(lane, one);
  merge.end("a");
  merge.end("b");
  expect(await taken(merge, 5)).toEqual(["b1", "a1", "a2", "b2", "a3"]);
});

test("a lane that has just been read to its end is waited for, and a quiet one is not for long", async () => {
  const merge = new LineMerge<Item>();
  merge.begin("quiet");
  void merge.push("a", item("a2", 20));
  const first = merge.next(later(), never);
  void merge.push("quiet", item("q1", 10));
  expect((await first)?.item.name).toBe("q1");
  // It comes although the other lane says nothing any more.
  expect(await taken(merge, 1)).toEqual(["a2"]);
});

test("a lane takes no more than its bound, and goes on when there is room", async () => {
  const merge = new LineMerge<Item>();
  let pushed = 0;
  const writing = (async () => {
    for (; pushed < 1_000; pushed += 1) await merge.push("a", item(String(pushed), pushed));
  })();
  for (let turns = 0; turns < 50; turns += 1) await turn();
  expect(pushed).toBe(63);
  expect(await taken(merge, 1_000)).toHaveLength(1_000);
  await writing;
  void merge.push("a", item("long", 1, 200_000));
  let isTaken = false;
  void merge.push("a", item("next", 2)).then(() => (isTaken = true));
  for (let turns = 0; turns < 50; turns += 1) await turn();
  expect(isTaken).toBe(false);
});

test("what only says how far a log was read takes no room", async () => {
  const merge = new LineMerge<Item>();
  for (let count = 0; count < 1_000; count += 1) await merge.push("a", item(String(count), 0, 0));
  expect(await taken(merge, 1)).toEqual(["999"]);
});

test("a writer does not wait for a reader that has gone away, and a reader hears of failures and aborts", async () => {
  const merge = new LineMerge<Item>();
  const pushes = Array.from({ length: 70 }, (_, at) => merge.push("a", item(String(at), at)));
  merge[Symbol.dispose]();
  await expect(Promise.all(pushes)).rejects.toThrow("closed");
  const other = new LineMerge<Item>();
  const read = other.next(later(), never);
  other.fail(new Error("broken"));
  await expect(read).rejects.toThrow("broken");
  const gone = new AbortController();
  const last = new LineMerge<Item>();
  const waiting = last.next(later(), gone.signal);
  gone.abort(new Error("left"));
  last.wake();
  await expect(waiting).rejects.toThrow("left");
  expect(await last.next(performance.now(), never)).toBeUndefined();
});
