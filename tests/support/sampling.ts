// Matrices of moments in which a process is killed take many minutes whole, and so do long scenarios. A usual run tries a part of them, chosen by a seed
// that it prints; `npm run test:full` tries all.

import { createHash, randomInt } from "node:crypto";

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
  return all.slice(at, at + 1);
}
