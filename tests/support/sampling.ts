// Matrices of moments in which a process is killed take many minutes whole. A usual run tries one moment of each row, chosen by a seed that
// it prints; `npm run test:full` tries all of them.

import { createHash, randomInt } from "node:crypto";

const isFull = process.env["SKERRY_TEST_FULL"] === "1";
const given = process.env["SKERRY_TEST_SEED"];
const seed = given ?? String(randomInt(1_000_000_000));
if (given === undefined && !isFull) process.stdout.write(`SKERRY_TEST_SEED=${seed}\n`);

/** All of them in a full run, otherwise one: for the same seed and row the same one. */
export function sampled<T>(row: string, all: readonly T[]): readonly T[] {
  if (isFull || all.length === 0) return all;
  const digest = createHash("sha256").update(`${seed} ${row}`).digest();
  const at = digest.readUInt32LE(0) % all.length;
  return all.slice(at, at + 1);
}
