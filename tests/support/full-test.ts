// Tests that a usual run leaves to `npm run test:full`.

import { test } from "vitest";
import { isFullRun, noteSampled } from "./sampling.ts";

type FullTest = Pick<typeof test, "each"> & {
  (name: string, body: () => Promise<void>, timeoutMs?: number): void;
  (name: string, options: { readonly timeout: number }, body: () => Promise<void>): void;
};

const leaveOut = (name: string, count: number) =>
  noteSampled({ title: "tests of the full run alone", part: name, taken: 0, all: count });
const leftOut = Object.assign((name: string) => leaveOut(name, 1), {
  each: ((cases: readonly unknown[]) => (name: string) => leaveOut(name, cases.length)) as typeof test.each,
});

/** As `test`. A usual run does not even define it, because a test that is skipped fails the run. */
export const fullTest: FullTest = isFullRun ? test : leftOut;
