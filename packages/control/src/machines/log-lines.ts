// Lines of a console log: cut, timed, and chosen by what a reader asks for. A guest writes what it likes to
// its console, also gigabytes without an end of line.

import { StringDecoder } from "node:string_decoder";
import type { Redactor } from "@skerry/contract/secrets/redactor";
import type { TimedPiece } from "@skerry/contract/host-api/timed-console";

export interface LogLine {
  readonly line: string;
  /** When it began, in ms since 1970; undefined where its host does not know. */
  readonly atMs: number | undefined;
}

export interface LineFilter {
  /** Only lines that contain it. A plain text: a pattern of the caller could cost any amount of CPU time. */
  readonly grep?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** Whether lines that look like a kernel's are among them. */
  readonly kernel: boolean;
}

/** A longer line is cut into several. */
const LINE_MAX_CHARS = 16 * 1024;
/** The guest can write such lines as well, and hides them from its own readers alone. */
const KERNEL_LINE = /^\[ *\d{1,10}\.\d{6}\] /;

export function isWanted({ line, atMs }: LogLine, { grep, kernel, ...times }: LineFilter): boolean {
  if (grep !== undefined && !line.includes(grep)) return false;
  return (kernel || !KERNEL_LINE.test(line)) && isWithin(atMs, times);
}

function isWithin(atMs: number | undefined, { since, until }: Pick<LineFilter, "since" | "until">): boolean {
  if (since === undefined && until === undefined) return true;
  if (atMs === undefined) return false;
  return atMs >= (since?.getTime() ?? 0) && atMs < (until?.getTime() ?? Infinity);
}

/** With its time before it. */
export function timedText({ line, atMs }: LogLine): string {
  return `${atMs === undefined ? "-" : new Date(atMs).toISOString()} ${line}`;
}

/** Bytes that are not UTF-8 become U+FFFD. */
export async function* linesOf(
  pieces: AsyncIterable<TimedPiece>,
  redactorNow: () => Promise<Redactor>,
): AsyncGenerator<LogLine> {
  let redactor = await redactorNow();
  const cutOf = (text: string): number | undefined => redactor.cutOf(text, LINE_MAX_CHARS);
  const cut = (line: string, atMs: number | undefined) => pieced(redactor.redact(line), atMs);
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let began: number | undefined;
  for await (const { bytes, atMs } of pieces) {
    if (rest === "") began = atMs;
    rest += decoder.write(bytes);
    redactor = await redactorNow();
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      yield* cut(line.endsWith("\r") ? line.slice(0, -1) : line, began);
      began = atMs;
    }
    for (let end = cutOf(rest); end !== undefined; end = cutOf(rest)) {
      yield* cut(rest.slice(0, end), began);
      rest = rest.slice(end);
    }
  }
  rest += decoder.end();
  if (rest !== "") yield* cut(rest, began);
}

function* pieced(line: string, atMs: number | undefined): Generator<LogLine> {
  let rest = line;
  for (; rest.length > LINE_MAX_CHARS; rest = rest.slice(LINE_MAX_CHARS))
    yield { line: rest.slice(0, LINE_MAX_CHARS), atMs };
  yield { line: rest, atMs };
}
