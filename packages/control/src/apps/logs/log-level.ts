// Levels of lines that programs print, in the forms that are common: JSON, logfmt, and a word at the
// beginning.

import type { LogLevel } from "@skerry/contract/apps/app-logs";

const words: Readonly<Record<LogLevel, readonly string[]>> = {
  debug: ["debug", "dbg", "trace", "verbose", "fine", "finer", "finest"],
  info: ["info", "information", "informational", "notice", "log"],
  warn: ["warn", "warning"],
  error: ["error", "err", "fatal", "critical", "crit", "alert", "emerg", "emergency", "panic", "severe"],
};
const byWord: ReadonlyMap<string, LogLevel> = new Map(
  (["debug", "info", "warn", "error"] as const).flatMap((level) =>
    words[level].map((word) => [word, level] as const),
  ),
);

const FIELDS = ["level", "severity", "lvl"] as const;
/** Part of a line in which its level is looked for, unless it is JSON. */
const HEAD_CHARS = 400;
// oxlint-disable-next-line no-control-regex -- colors of terminals are what it looks for
const COLORS = /\u001b\[[\d;]{0,20}m/g;
const LOGFMT = /(?:^|\s)(?:level|severity|lvl)="?([a-z]{3,13}|\d{2})"?(?=\s|$)/i;
/** A time, in brackets or not, before the level. */
const TIME =
  /^\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:Z|[ ]?[+-]\d\d:?\d\d)?\]?[\s:-]*/;
const BRACKETED = /^(?:\[[^\]\s]{1,40}\]\s*){0,2}[[(<]\s?([a-z]{3,13})\s?[\])>]/i;
/** Capitals alone, or with a colon: other words begin sentences. */
const LEADING = /^(?:([A-Z]{3,13})(?=[\s:|\]-]|$)|([A-Za-z]{3,13})(?=:(?:\s|$)))/;

/** Null where the line says none. */
export function levelOf(line: string): LogLevel | null {
  const head = line.slice(0, HEAD_CHARS).replaceAll(COLORS, "").trimStart();
  if (head.startsWith("{")) return levelOfJson(line);
  const [, word] = LOGFMT.exec(head) ?? [];
  if (word !== undefined) return levelNamed(word) ?? null;
  const text = head.replace(TIME, "");
  const [, bracketed] = BRACKETED.exec(text) ?? [];
  const [, capitals, beforeColon] = LEADING.exec(text) ?? [];
  return levelNamed(bracketed ?? capitals ?? beforeColon ?? "") ?? null;
}

const ranks: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** A line without a level counts as `info`. */
export function isAtLeast(level: LogLevel | null, wanted: LogLevel): boolean {
  return ranks[level ?? "info"] >= ranks[wanted];
}

/** A line that was cut is no JSON any more, and has none. */
function levelOfJson(line: string): LogLevel | null {
  const fields = parsed(line.replaceAll(COLORS, ""));
  for (const name of FIELDS) {
    const value = fields[name];
    const level =
      typeof value === "string" || typeof value === "number" ? levelNamed(String(value)) : undefined;
    if (level !== undefined) return level;
  }
  return null;
}

function parsed(line: string): Readonly<Record<string, unknown>> {
  try {
    // It begins with a brace, so it is an object.
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

/** Numbers are pino's: 10 is trace, and 60 fatal. */
function levelNamed(word: string): LogLevel | undefined {
  if (!/^\d{1,3}$/.test(word)) return byWord.get(word.toLowerCase());
  const number = Number(word);
  if (number < 10 || number > 60) return undefined;
  if (number < 30) return "debug";
  if (number < 40) return "info";
  return number < 50 ? "warn" : "error";
}
