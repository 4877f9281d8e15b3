// How a process has ended, in the words that E2B's clients compare.

import { constants } from "node:os";
import { expect, test } from "vitest";
import { signalWords } from "../src/e2b/signal-words.ts";

test.each([
  ["SIGKILL", "killed"],
  ["SIGTERM", "terminated"],
  ["SIGINT", "interrupt"],
  ["SIGSEGV", "segmentation fault"],
  ["SIGABRT", "aborted"],
  ["SIGIOT", "aborted"],
  ["SIGUSR1", "user defined signal 1"],
  ["SIGXCPU", "CPU time limit exceeded"],
  ["signal 34", "signal 34"],
])("%s is told as %s", (signal, words) => {
  expect(signalWords(signal)).toBe(words);
});

test("every signal that this system has a name for has words", () => {
  const without = Object.keys(constants.signals).filter((name) => signalWords(name) === name);
  expect(without).toEqual([]);
});
