// Tables of text. On a terminal they fit its width: ids and times become shorter first, then columns go that matter least, then the widest are
// cut. Elsewhere nothing is cut, because a program may read it.

import { relativeTime } from "./relative-times.ts";
import { measureFor, truncated, wrapped, type WidthOf } from "./text-width.ts";

/** What becomes of columns, from 0, where the terminal is narrow. Those that are not named are cut, the widest first. */
export interface NarrowColumns {
  /** Their text breaks into lines instead of being cut. */
  readonly prose?: readonly number[];
  /** The same, as narrow as their longest word, and before any other. */
  readonly words?: readonly number[];
  /** They are never cut. Those with times need not be named. */
  readonly whole?: readonly number[];
  /** They are left out, the first of these first. */
  readonly minor?: readonly number[];
  /** The same, where the others do not fit as narrow as they can be. */
  readonly spare?: readonly number[];
}

export interface TableLayout extends NarrowColumns {
  /** Width of the terminal; undefined where there is none. */
  readonly columns: number | undefined;
  /** The first row is a header, and ids below it may be shortened to beginnings that are unique in the table. */
  readonly hasHeader?: boolean;
}

type Rows = readonly (readonly string[])[];

const GAP = "  ";
const COLUMN_MIN = 5;
/** Of a name, so that it is still known for what it is. */
const LEGIBLE_CHARS = 24;
const PROSE_MIN = 20;

/** A column as it is shown. */
interface Column {
  readonly cells: readonly string[];
  /** It breaks into lines. */
  readonly isProse: boolean;
  /** What it is never narrower than. */
  readonly least: number;

  /** It is made narrower before others. */
  readonly isFirst: boolean;
  width: number;
}

/** Columns two spaces apart. The cells hold nothing that a terminal obeys. */
export async function tableText(rows: Rows, layout: TableLayout): Promise<string> {
  const widthOf = await measureFor(rows.flat());
  const shown = fitted(rows, layout, widthOf);
  const lines = rows.flatMap((_, row) => rowLines(shown, row, widthOf));
  const { columns } = layout;
  const isTooWide = columns !== undefined && totalOf(shown) > columns;
  // Words that stay whole may reach beyond the edge; columns may not.
  const cut =
    isTooWide && layout.hasHeader === true ? lines.map((line) => truncated(line, columns, widthOf)) : lines;
  return `${cut.join("\n")}\n`;
}

function fitted(rows: Rows, layout: TableLayout, widthOf: WidthOf): readonly Column[] {
  const { columns, hasHeader = false, minor = [], spare = [] } = layout;
  const timeColumns = columnsOf(rows, (cell) => TIME.test(cell));
  const columnsFrom = (shown: Rows): Column[] =>
    (rows[0] ?? []).map((_, at) => columnOf(shown, at, { layout, isTime: timeColumns.has(at), widthOf }));
  const whole = columnsFrom(rows);
  if (columns === undefined || totalOf(whole) <= columns) return whole;
  let kept = columnsFrom(hasHeader ? withShortTimes(withShortIds(rows)) : rows);
  const byIndex = [...kept];
  for (const at of minor) {
    if (totalOf(kept, legibleWidth) <= columns) break;
    kept = kept.filter((column) => column !== byIndex[at]);
  }
  for (const at of spare) {
    if (totalOf(kept, ({ least }) => least) <= columns) break;
    kept = kept.filter((column) => column !== byIndex[at]);
  }
  narrow(
    kept.filter(({ isFirst }) => isFirst),
    () => totalOf(kept) > columns,
  );
  narrow(kept, () => totalOf(kept) > columns);
  return kept;
}

/** Takes from the widest, one character after the other. */
function narrow(columns: readonly Column[], isTooWide: () => boolean): void {
  while (isTooWide()) {
    const [widest] = columns
      .filter(({ width, least }) => width > least)
      .toSorted((one, other) => other.width - one.width);
    if (widest === undefined) return;
    widest.width -= 1;
  }
}

interface Look {
  readonly layout: NarrowColumns;
  readonly isTime: boolean;
  readonly widthOf: WidthOf;
}

function columnOf(
  rows: Rows,
  at: number,
  { layout: { prose = [], words = [], whole = [], minor = [] }, isTime, widthOf }: Look,
): Column {
  const cells = rows.map((row) => row[at] ?? "");
  const width = Math.max(...cells.map(widthOf));
  // The beginning of an id is of use as long as it is whole.
  const ids = cells.filter((cell) => ID_BEGINNING.test(cell)).map((id) => id.length);
  const longestWord = () => Math.max(...cells.flatMap((cell) => cell.split(" ")).map(widthOf));
  let least = Math.max(prose.includes(at) ? PROSE_MIN : COLUMN_MIN, ...ids);
  if (words.includes(at)) least = longestWord();
  const isProse = words.includes(at) || prose.includes(at);
  // A rest of what can go is of no use.
  if (isTime || whole.includes(at) || (minor.includes(at) && !isProse)) least = width;
  const isFirst = words.includes(at);
  least = Math.min(least, width);
  return { cells, isProse, least, isFirst, width };
}

const ID_BEGINNING = /^[a-z]{3}_[0-9a-hjkmnp-tv-z]{12,26}$/;
const ID = /^([a-z]{3}_)([0-9a-hjkmnp-tv-z]{26})$/;
/** The first ten are the time of its creation, in milliseconds. */
const ID_CHARS_MIN = 12;

/** The shortest length at which all ids of the table are still different ones, so that a beginning can be typed. */
function withShortIds(rows: Rows): Rows {
  const ids = [...new Set(rows.flat().filter((cell) => ID.test(cell)))].toSorted();
  let chars = ID_CHARS_MIN;
  const prefixChars = "sbx_".length;
  for (const [index, id] of ids.entries()) {
    const before = ids[index - 1] ?? "";
    while (chars < 26 && before.slice(0, prefixChars + chars) === id.slice(0, prefixChars + chars))
      chars += 1;
  }
  return rows.map((row) => row.map((cell) => (ID.test(cell) ? cell.slice(0, prefixChars + chars) : cell)));
}

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/;

function columnsOf(rows: Rows, isMeant: (cell: string) => boolean): ReadonlySet<number> {
  return new Set(rows.flatMap((row) => row.flatMap((cell, at) => (isMeant(cell) ? [at] : []))));
}

/** `2026-11-20T16:21:09.123Z` as how long ago that is. */
function withShortTimes(rows: Rows): Rows {
  return rows.map((row) => row.map((cell) => cell.replace(TIME, (time) => relativeTime(time))));
}

function totalOf(columns: readonly Column[], widthOf = ({ width }: Column) => width): number {
  const gaps = GAP.length * Math.max(0, columns.length - 1);
  return columns.reduce((sum, column) => sum + widthOf(column), 0) + gaps;
}

/** It is not made narrower than this as long as a minor column can go instead. */
function legibleWidth({ width, least, isProse }: Column): number {
  return Math.min(width, isProse ? least : Math.max(least, LEGIBLE_CHARS));
}

/** One line, or as many as the longest piece of prose in it has. */
function rowLines(columns: readonly Column[], row: number, widthOf: WidthOf): readonly string[] {
  const cells = columns.map(({ cells: all, isProse, width }) => {
    const cell = all[row] ?? "";
    return isProse ? wrapped(cell, width, widthOf) : [truncated(cell, width, widthOf)];
  });
  const height = Math.max(1, ...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) =>
    cells
      .map((lines, index) => padded(lines[at] ?? "", columns[index]?.width ?? 0, widthOf))
      .join(GAP)
      .trimEnd(),
  );
}

function padded(text: string, width: number, widthOf: WidthOf): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}
