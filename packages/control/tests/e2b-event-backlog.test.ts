// Events that a guest makes faster than its client asks for them.

import { expect, test } from "vitest";
import { EventBacklogs, type EventBacklog } from "../src/e2b/event-backlog.ts";

const KIB = 1024;
/** About two KiB of memory each. */
const event = (index: number) => ({ name: `${index} ${"x".repeat(750)}` });
const firstOf = (name = "") => Number(name.split(" ", 1)[0]);

function fill(backlog: EventBacklog, count: number): void {
  for (let index = 0; index < count; index++) backlog.push(event(index));
}

test("the oldest events of a watcher give way, and its reader is told once", () => {
  const backlog = new EventBacklogs({
    perWatcherBytes: 20 * KIB,
    perOrganizationBytes: 1_000 * KIB,
    totalBytes: 1_000 * KIB,
  }).open("one");
  fill(backlog, 5);
  expect(backlog.take().events.map(({ name }) => firstOf(name))).toEqual([0, 1, 2, 3, 4]);
  fill(backlog, 100);
  expect(backlog.take()).toEqual({ events: [], isIncomplete: true });
  const { events, isIncomplete } = backlog.take();
  expect([isIncomplete, firstOf(events.at(-1)?.name)]).toEqual([false, 99]);
  expect(events.length).toBeGreaterThan(5);
  expect(events.length).toBeLessThan(12);
  expect(backlog.take()).toEqual({ events: [], isIncomplete: false });
});

test("one event larger than everything is lost, and said to be", () => {
  const bounds = { perWatcherBytes: KIB, perOrganizationBytes: KIB, totalBytes: KIB };
  const backlog = new EventBacklogs(bounds).open("one");
  backlog.push(event(1));
  expect(backlog.take().isIncomplete).toBe(true);
  expect(backlog.take().events).toEqual([]);
});

test("an organization with many watchers fills its own part, and gives it back with them", () => {
  const backlogs = new EventBacklogs({
    perWatcherBytes: 20 * KIB,
    perOrganizationBytes: 50 * KIB,
    totalBytes: 1_000 * KIB,
  });
  const quiet = backlogs.open("quiet");
  fill(quiet, 3);
  const greedy = Array.from({ length: 20 }, () => backlogs.open("greedy"));
  for (const one of greedy) fill(one, 100);
  // The first ones have kept what they had: no watcher gives way to another.
  expect(greedy[0]?.take().isIncomplete).toBe(true);
  expect(greedy[0]?.take().events.length).toBeGreaterThan(5);
  for (const one of greedy) one.close();
  fill(quiet, 2);
  expect(quiet.take()).toMatchObject({ isIncomplete: false, events: { length: 5 } });
  const next = backlogs.open("greedy");
  fill(next, 5);
  expect(next.take().events.length).toBe(5);
  next.close();
  next.push(event(1));
  expect(next.take().events).toEqual([]);
});

test("all organizations together are bounded as well", () => {
  const bounds = { perWatcherBytes: 20 * KIB, perOrganizationBytes: 50 * KIB, totalBytes: 100 * KIB };
  const backlogs = new EventBacklogs(bounds);
  const all = Array.from({ length: 50 }, (_, index) => backlogs.open(`organization ${index}`));
  for (const one of all) fill(one, 9);
  let kept = 0;
  for (const one of all) kept += one.take().events.length + one.take().events.length;
  expect(kept).toBeGreaterThan(30);
  expect(kept).toBeLessThan(55);
});
