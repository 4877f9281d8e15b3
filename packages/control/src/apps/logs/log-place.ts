// Places in the log of an instance, from which a reader goes on without losing a line and without having one
// twice: the position of a byte in its console, or, of a host that knows no positions, a time and how many
// lines have begun at it.

import type { Redactor } from "@skerry/contract/secrets/redactor";
import type { TimedPiece } from "@skerry/contract/host-api/timed-console";
import { linesOf, type LinePosition, type LogLine } from "../../machines/log-lines.ts";

interface TimePlace {
  readonly atMs: number;
  readonly count: number;
}
export type LogPlace = LinePosition | TimePlace;

/** `4711`, with `.2` of a line that is cut into pieces, or `t1780000000000.3`. */
export const PLACE = /^(?:(\d{1,15})(?:\.(\d{1,7}))?|t(\d{1,14})\.(\d{1,9}))$/;

export function formatPlace(place: LogPlace): string {
  if ("count" in place) return `t${place.atMs}.${place.count}`;
  return place.pieces === 0 ? String(place.position) : `${place.position}.${place.pieces}`;
}

/** Undefined where the text is none. */
export function parsePlace(text: string): LogPlace | undefined {
  const [found, position, pieces = "0", atMs, count] = PLACE.exec(text) ?? [];
  if (found === undefined) return undefined;
  if (position !== undefined) return { position: Number(position), pieces: Number(pieces) };
  return { atMs: Number(atMs), count: Number(count) };
}

/** Position that a host is asked for. What comes before the place is left out. */
export function positionOf(place: LogPlace | undefined): number {
  return place !== undefined && "position" in place ? place.position : 0;
}

export interface PlacedLine {
  /** Undefined: nothing but a place, at which the log begins. */
  readonly line: LogLine | undefined;
  /** Time, or that of the line before where it has none of its own; 0: none is known. */
  readonly atMs: number;
  /** Behind the line. */
  readonly place: string;
}

interface Reading {
  readonly redactorNow: () => Promise<Redactor>;
  /** Lines up to here are left out. */
  readonly after: LogPlace | undefined;
  /**
   * It comes from its beginning, wherever the place is. Otherwise one that comes from there is another log.
   */
  readonly isWhole?: boolean;
}

/** Lines behind a place. A log that tells positions first gives the one at which it begins. */
export async function* placedLines(
  pieces: AsyncIterable<TimedPiece>,
  { redactorNow, after: asked, isWhole = false }: Reading,
): AsyncGenerator<PlacedLine> {
  const source = pieces[Symbol.asyncIterator]();
  try {
    const first = await source.next();
    if (first.done === true) return;
    const { position } = first.value;
    const after = isWhole || !isBefore(position, asked) ? asked : undefined;
    if (position !== undefined && !isAt(after, position))
      yield { line: undefined, atMs: 0, place: formatPlace({ position, pieces: 0 }) };
    const filter = new PlaceFilter(after);
    for await (const line of linesOf(goingOn(first.value, source), redactorNow)) {
      const placed = filter.take(line);
      if (placed !== undefined) yield placed;
    }
  } finally {
    await source.return?.();
  }
}

function isBefore(position: number | undefined, place: LogPlace | undefined): boolean {
  return position !== undefined && place !== undefined && "position" in place && position < place.position;
}

function isAt(place: LogPlace | undefined, position: number): boolean {
  return place !== undefined && (!("position" in place) || place.position >= position);
}

async function* goingOn(first: TimedPiece, source: AsyncIterator<TimedPiece>): AsyncGenerator<TimedPiece> {
  yield first;
  for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
}

class PlaceFilter {
  readonly #after: LogPlace | undefined;
  #atMs = 0;
  /** Lines that have begun at that time. */
  #count = 0;

  constructor(after: LogPlace | undefined) {
    this.#after = after;
  }

  /** Undefined: a reader at the place has had it. */
  take(line: LogLine): PlacedLine | undefined {
    if (line.atMs !== undefined && line.atMs !== this.#atMs) {
      this.#atMs = line.atMs;
      this.#count = 0;
    }
    this.#count += 1;
    const ofTime = { atMs: this.#atMs, count: this.#count };
    if (this.#isHad(line, ofTime)) return undefined;
    return { line, atMs: this.#atMs, place: formatPlace(line.next ?? ofTime) };
  }

  #isHad({ next }: LogLine, { atMs, count }: TimePlace): boolean {
    const after = this.#after;
    if (after === undefined) return false;
    if ("count" in after) return atMs < after.atMs || (atMs === after.atMs && count <= after.count);
    if (next === undefined) return false;
    return next.position === after.position ? next.pieces <= after.pieces : next.position < after.position;
  }
}
