import { expect, test } from "vitest";
import { readSettings, writeSettings } from "../src/local/system/settings-file.ts";

test("settings are read as they were written", () => {
  const settings = {
    SKERRY_DATABASE_URL: 'postgresql://a:$b`"\\c@db/skerry?sslmode=require#x',
    SKERRY_LISTEN: "127.0.0.1:7070",
    SKERRY_EMPTY: "",
  };
  expect(readSettings(writeSettings(settings))).toEqual(settings);
  expect(() => writeSettings({ SKERRY_X: "a\nExecStart=b" })).toThrow("one line");
});

test("a file that an operator has edited is read as systemd reads it", () => {
  const text =
    '# a comment\n\nSKERRY_A=plain value\n  SKERRY_B=\'single $x\'\nnot a setting\nSKERRY_C="two\\" words"\n';
  expect(readSettings(text)).toEqual({
    SKERRY_A: "plain value",
    SKERRY_B: "single $x",
    SKERRY_C: 'two" words',
  });
});
