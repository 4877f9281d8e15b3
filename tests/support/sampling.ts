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

/** Each row with each column in a full run, otherwise `count` of these pairs, among them each row and each column at least once. */
export function covering<R extends string, C extends string>(
  title: string,
  {
    rows,
    columns,
    count,
  }: { readonly rows: readonly R[]; readonly columns: readonly C[]; readonly count: number },
): readonly (readonly [R, C])[] {
  const all = rows.flatMap((row) => columns.map((column) => [row, column] as const));
  if (isFullRun) return all;
  const place = (name: string) => drawn(`${title} ${name}`, 2 ** 32);
  const inTurn = all.toSorted((a, b) => place(a.join(" ")) - place(b.join(" ")));
  const uncovered = new Set<string>([
    ...rows.map((row) => `row ${row}`),
    ...columns.map((column) => `column ${column}`),
  ]);
  const isNew = ([row, column]: readonly [R, C]) =>
    // Both are tried, so that the set forgets both.
    [uncovered.delete(`row ${row}`), uncovered.delete(`column ${column}`)].includes(true);
  const needed = inTurn.filter(isNew);
  const others = inTurn.filter((pair) => !needed.includes(pair));
  const taken = [...needed, ...others].slice(0, Math.max(count, needed.length));
  noteSampled({ title: `pairs of ${title}`, taken: taken.length, all: all.length });
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
