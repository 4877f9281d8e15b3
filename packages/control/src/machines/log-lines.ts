// Lines of a console log: cut, timed, and chosen by what a reader asks for. A guest writes what it likes to
// its console, also gigabytes without an end of line.

import { StringDecoder } from "node:string_decoder";
import type { Redactor } from "@skerry/contract/secrets/redactor";
import type { TimedPiece } from "@skerry/contract/host-api/timed-console";

export interface LogLine {
  readonly line: string;
  /** When it began, in ms since 1970; undefined where its host does not know. */
  readonly atMs: number | undefined;
  /** Behind it: where a later reader goes on. Undefined where its host tells no positions. */
  readonly next?: LinePosition | undefined;
  /** It has not ended, and may go on. */
  readonly isOpen?: true;
}

/** The beginning of a line, and how many of the pieces into which the line is cut a reader has had. */
export interface LinePosition {
  readonly position: number;
  readonly pieces: number;
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
const NEWLINE = 0x0a;
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
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const line = new CutLine();
  // A line is cut at the same places whether its end has come or not.
  function* long(text: string): Generator<LogLine, string> {
    let left = text;
    for (let cut = cutOf(left); cut !== undefined; cut = cutOf(left)) {
      yield* line.part(redactor.redact(left.slice(0, cut)));
      left = left.slice(cut);
    }
    return left;
  }
  const cutOf = (text: string): number | undefined => redactor.cutOf(text, LINE_MAX_CHARS);
  let isAtStart = true;
  let end: number | undefined;
  for await (const { bytes, atMs, position } of pieces) {
    if (isAtStart) line.begin(atMs, position);
    if (bytes.length > 0) isAtStart = bytes.at(-1) === NEWLINE;
    end = position === undefined ? undefined : position + bytes.length;
    rest += decoder.write(bytes);
    redactor = await redactorNow();
    const ends = endsOf(bytes, position);
    const texts = rest.split("\n");
    rest = texts.pop() ?? "";
    for (const [index, text] of texts.entries()) {
      const end = yield* long(text);
      yield* line.last(redactor.redact(end.endsWith("\r") ? end.slice(0, -1) : end), ends[index]);
      line.begin(atMs, ends[index]);
    }
    rest = yield* long(rest);
  }
  rest += decoder.end();
  if (rest === "") return;
  for (const open of line.last(redactor.redact(rest), end)) yield { ...open, isOpen: true };
}

/** Positions behind the ends of lines. Also what is no UTF-8 has as many in its bytes as in its text. */
function endsOf(bytes: Buffer, position: number | undefined): number[] {
  const ends: number[] = [];
  if (position === undefined) return ends;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1))
    ends.push(position + at + 1);
  return ends;
}

/** One line of a log after the other, each in pieces that are not too long. */
class CutLine {
  #begins: number | undefined;
  #atMs: number | undefined;
  #pieces = 0;

  begin(atMs: number | undefined, position: number | undefined): void {
    this.#begins = position;
    this.#atMs = atMs;
    this.#pieces = 0;
  }

  /** Text of the line that is not its last. */
  *part(text: string): Generator<LogLine> {
    for (let at = 0; at < text.length; at += LINE_MAX_CHARS) {
      this.#pieces += 1;
      yield this.#piece(text.slice(at, at + LINE_MAX_CHARS), this.#begins, this.#pieces);
    }
  }

  /** The rest of the line, which ends before the position. */
  *last(text: string, end: number | undefined): Generator<LogLine> {
    const lastAt = text.length - (text.length % LINE_MAX_CHARS || LINE_MAX_CHARS);
    if (lastAt > 0) yield* this.part(text.slice(0, lastAt));
    yield this.#piece(text.slice(Math.max(0, lastAt)), end, 0);
  }

  #piece(line: string, position: number | undefined, pieces: number): LogLine {
    const next = position === undefined ? undefined : { position, pieces };
    return { line, atMs: this.#atMs, next };
  }
}
