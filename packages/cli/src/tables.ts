// Tables of text. On a terminal they fit its width: ids become shorter first, then the widest columns. Elsewhere nothing is cut, because a
// program may read it.

import { measureFor, truncated, wrapped, type WidthOf } from "./text-width.ts";

export interface TableLayout {
  /** Width of the terminal; undefined where there is none. */
  readonly columns: number | undefined;
  /** Columns, from 0, whose text breaks into lines instead of being cut. */
  readonly prose?: readonly number[];
  /** The first row is a header, and ids below it may be shortened to beginnings that are unique in the table. */
  readonly hasHeader?: boolean;
}

type Rows = readonly (readonly string[])[];

const GAP = "  ";
const COLUMN_MIN = 5;
const PROSE_MIN = 20;

/** Columns two spaces apart. The cells hold nothing that a terminal obeys. */
export async function tableText(rows: Rows, layout: TableLayout): Promise<string> {
  const widthOf = await measureFor(rows.flat());
  const fitting = fitted(rows, layout, widthOf);
  const lines = fitting.rows.flatMap((row) => rowLines(row, fitting.widths, layout.prose ?? [], widthOf));
  const { columns } = layout;
  const isTooWide = columns !== undefined && totalOf(fitting.widths) > columns;
  // Words that stay whole may reach beyond the edge; columns may not.
  const shown =
    isTooWide && layout.hasHeader === true ? lines.map((line) => truncated(line, columns, widthOf)) : lines;
  return `${shown.join("\n")}\n`;
}

function fitted(
  rows: Rows,
  { columns, prose = [], hasHeader = false }: TableLayout,
  widthOf: WidthOf,
): { readonly rows: Rows; readonly widths: readonly number[] } {
  const natural = widthsOf(rows, widthOf);
  if (columns === undefined || totalOf(natural) <= columns) return { rows, widths: natural };
  const shorter = hasHeader ? withShortIds(rows) : rows;
  const widths = [...widthsOf(shorter, widthOf)];
  const least = (column: number) => leastWidth(shorter, column, prose.includes(column));
  while (totalOf(widths) > columns) {
    const widest = widths.reduce(
      (best, width, column) =>
        width > least(column) && (best === undefined || width > (widths[best] ?? 0)) ? column : best,
      undefined as number | undefined,
    );
    if (widest === undefined) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return { rows: shorter, widths };
}

/** The beginning of an id is of use as long as it is whole. */
function leastWidth(rows: Rows, column: number, isProse: boolean): number {
  const ids = rows.map((row) => row[column] ?? "").filter((cell) => ID_BEGINNING.test(cell));
  return Math.max(isProse ? PROSE_MIN : COLUMN_MIN, ...ids.map((id) => id.length));
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

function widthsOf(rows: Rows, widthOf: WidthOf): readonly number[] {
  return (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => widthOf(row[column] ?? ""))));
}

function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP.length * Math.max(0, widths.length - 1);
}

/** One line, or as many as the longest piece of prose in it has. */
function rowLines(
  row: readonly string[],
  widths: readonly number[],
  prose: readonly number[],
  widthOf: WidthOf,
): readonly string[] {
  const cells = row.map((cell, column) => {
    const width = widths[column] ?? 0;
    return prose.includes(column) ? wrapped(cell, width, widthOf) : [truncated(cell, width, widthOf)];
  });
  const height = Math.max(1, ...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) =>
    cells
      .map((lines, column) => padded(lines[at] ?? "", widths[column] ?? 0, widthOf))
      .join(GAP)
      .trimEnd(),
  );
}

function padded(text: string, width: number, widthOf: WidthOf): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}
