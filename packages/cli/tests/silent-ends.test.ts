import { expect, test } from "vitest";
import { endingOf, exitCodes } from "../src/errors/errors.ts";
import { collectPath } from "../src/input/options.ts";

test("a Ctrl-C at a question ends like one of a command, without words", () => {
  const error = Object.assign(new Error("Aborted with Ctrl+C"), { name: "AbortError", code: "ABORT_ERR" });
  expect(endingOf(error, exitCodes.failed)).toEqual({ exitCode: 130 });
  const other = Object.assign(new Error("The operation was aborted"), { name: "AbortError" });
  expect(endingOf(other, exitCodes.failed).failure).toBeDefined();
});

test("a path that is a flag is refused, and one that begins with a dot is taken", () => {
  expect(() => collectPath("--copy-out")).toThrow('"--copy-out" is a flag');
  expect(collectPath("./--odd", ["a"])).toEqual(["a", "./--odd"]);
});
