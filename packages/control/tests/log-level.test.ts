import { expect, test } from "vitest";
import type { LogLevel } from "@skerry/contract/apps/app-logs";
import { isAtLeast, levelOf } from "../src/apps/logs/log-level.ts";

const table: readonly (readonly [line: string, level: LogLevel | null])[] = [
  // JSON, with words and with pino's numbers.
  ['{"level":"error","msg":"x"}', "error"],
  ['{"severity":"WARNING","message":"x"}', "warn"],
  ['{"lvl":"dbg"}', "debug"],
  ['{"level":10}', "debug"],
  ['{"level":30,"time":1}', "info"],
  ['{"level":"40"}', "warn"],
  ['{"level":60}', "error"],
  ['{"level":3}', null],
  ['{"level":null,"severity":"NOTICE"}', "info"],
  ['{"level":{"a":1}}', null],
  ['{"level":"error"', null],
  ['{"msg":"level=error"}', null],
  ['\u001b[32m{"level":"warn"}\u001b[0m', "warn"],
  // logfmt.
  ["ts=2026-11-20T10:00:00Z level=warn msg=slow", "warn"],
  ['level="error" msg="x"', "error"],
  ["msg=x lvl=DEBUG", "debug"],
  ["sea-level=error", null],
  ["level=high", null],
  // A word.
  ["ERROR no disk", "error"],
  ["WARNING: no disk", "warn"],
  ["Error: boom", "error"],
  ["warn: x", "warn"],
  ["[warn] x", "warn"],
  ["[ERROR] x", "error"],
  ["<notice> x", "info"],
  ["(debug) x", "debug"],
  ["INFO", "info"],
  ["INFO - started", "info"],
  ["2026-11-20 10:00:00,123 ERROR no disk", "error"],
  ["2026-11-20T10:00:00.123456Z  WARN app::db: slow", "warn"],
  ["[2026-11-20 10:00:00 +0000] [7] [INFO] Booting", "info"],
  ["[2026-11-20 10:00:00] [critical] x", "error"],
  ["10:00:00 [main] [ERROR] x", "error"],
  ["\u001b[31mERROR\u001b[0m x", "error"],
  ["\u001b[33m[warn]\u001b[39m x", "warn"],
  // None.
  ["", null],
  ["listening on 8080", null],
  ["error handling is hard", null],
  ["information wants to be free", null],
  ["ERRORS: none", null],
  ["INFORMATIONAL", "info"],
  ["no ERROR here", null],
  ["log in to go on", null],
  ["[web] started", null],
];

test.each(table)("%j has the level %s", (line, level) => {
  expect(levelOf(line)).toBe(level);
});

test("a line of any content is looked at in a time that grows with its length alone", () => {
  for (const part of ["[a] ", "level=", "\u001b[", "2026-11-20 ", "{", " [[((<< ", "\t"])
    expect(levelOf(part.repeat(16_384 / part.length))).toBeNull();
});

test.each<readonly [LogLevel | null, readonly LogLevel[]]>([
  [null, ["debug", "info"]],
  ["debug", ["debug"]],
  ["info", ["debug", "info"]],
  ["warn", ["debug", "info", "warn"]],
  ["error", ["debug", "info", "warn", "error"]],
])("a line of the level %s is at least %j", (level, least) => {
  expect((["debug", "info", "warn", "error"] as const).filter((one) => isAtLeast(level, one))).toEqual(least);
});
