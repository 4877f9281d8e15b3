// Matrices of moments in which a process is killed take many minutes whole, and so do long scenarios. A usual run tries a part of them, chosen by a seed
// that it prints; `npm run test:full` tries all. The run says at its end which part it took.

import { createHash, randomInt } from "node:crypto";
import { appendFileSync } from "node:fs";

export const isFullRun = process.env["SKERRY_TEST_FULL"] === "1";
const given = process.env["SKERRY_TEST_SEED"];
const seed = given ?? String(randomInt(1_000_000_000));
if (given === undefined && !isFullRun) {
  process.stdout.write(`SKERRY_TEST_SEED=${seed}\n`);
  // The workers of this process draw by the same.
  process.env["SKERRY_TEST_SEED"] = seed;
}

/** A number below `count`: for the same seed and row the same one. */
export function drawn(row: string, count: number): number {
  return createHash("sha256").update(`${seed} ${row}`).digest().readUInt32LE(0) % count;
}

/** All of them in a full run, otherwise one. */
export function sampled<T>(row: string, all: readonly T[]): readonly T[] {
  if (isFullRun || all.length === 0) return all;
  const at = drawn(row, all.length);
  const taken = all.slice(at, at + 1);
  noteSampled({
    title: `moments of ${/^\w+/.exec(row)?.[0]}`,
    part: row,
    taken: taken.length,
    all: all.length,
  });
  return taken;
}

/** All pairs in a full run, otherwise about `count` of them, among them each first and each second half at least once. */
export function covering<A extends string, B extends string>(
  title: string,
  pairs: readonly (readonly [A, B])[],
  count: number,
): readonly (readonly [A, B])[] {
  if (isFullRun) return pairs;
  const place = (pair: readonly string[]) => drawn(`${title} ${pair.join(" ")}`, 2 ** 32);
  const inTurn = pairs.toSorted((a, b) => place(a) - place(b));
  const [firsts, seconds] = [new Set<string>(), new Set<string>()];
  const needed = inTurn.filter(([first, second]) => {
    const isNew = !firsts.has(first) || !seconds.has(second);
    firsts.add(first);
    seconds.add(second);
    return isNew;
  });
  const others = inTurn.filter((pair) => !needed.includes(pair));
  const taken = [...needed, ...others].slice(0, Math.max(count, needed.length));
  noteSampled({ title: `pairs of ${title}`, taken: taken.length, all: pairs.length });
  return taken;
}

/** All in a full run, otherwise those that are needed and a third of the others. */
export function third<T>(title: string, all: readonly T[], isNeeded: (one: T) => boolean): readonly T[] {
  if (isFullRun) return all;
  const taken = all.filter((one) => isNeeded(one) || drawn(`${title} ${String(one)}`, 3) === 0);
  noteSampled({ title, taken: taken.length, all: all.length });
  return taken;
}

export interface Sampled {
  readonly title: string;
  /** Which one of this title: its numbers are added up. A note that comes twice counts once. */
  readonly part?: string;
  readonly taken: number;
  readonly all: number;
}

/** Has the run say at its end which part of a matrix it took. */
export function noteSampled(note: Sampled): void {
  const file = process.env["SKERRY_TEST_SAMPLED"];
  if (file !== undefined && note.taken < note.all) appendFileSync(file, `${JSON.stringify(note)}\n`);
}

/** For people; empty where the runs that noted this took all. */
export function toldSampled(notes: readonly Sampled[]): string {
  const titles = [...new Set(notes.map(({ title }) => title))];
  const parts = titles.map((title) => {
    const own = notes.filter((note) => note.title === title);
    const sum = (count: (note: Sampled) => number) => own.reduce((before, note) => before + count(note), 0);
    return `${title} ${sum(({ taken }) => taken)} of ${sum(({ all }) => all)}`;
  });
  return parts.length === 0 ? "" : `sampled; npm run test:full tries all: ${parts.join(", ")}\n`;
}
