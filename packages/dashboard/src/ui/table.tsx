// Rows of one height, of which only those in sight are in the page, so that ten thousand cost what fifty cost.

import { useComputed, useSignal, type ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { go, href } from "../router.ts";

export interface Column<Item> {
  readonly name: string;
  /** Of the whole width; the rest is shared out. A CSS grid track, such as `8rem` or `2fr`. */
  readonly width: string;
  readonly cell: (item: Item) => ComponentChildren;
}

interface TableProps<Item> {
  readonly label: string;
  readonly columns: readonly Column<Item>[];
  readonly rows: readonly ReadonlySignal<Item | null>[];
  /** Where a row leads: its first cell is the link. */
  readonly to?: (item: Item) => string;
  /** Called when the end comes into sight. */
  readonly onEnd?: () => void;
}

const ROW_PX = 36;
const BEYOND_ROWS = 12;

export function Table<Item>({ label, columns, rows, to, onEnd }: TableProps<Item>) {
  const body = useRef<HTMLDivElement>(null);
  const range = useSignal<readonly [number, number]>([0, 60]);
  useEffect(() => {
    const look = () => {
      const top = -(body.current?.getBoundingClientRect().top ?? 0);
      const first = Math.max(0, Math.floor(top / ROW_PX) - BEYOND_ROWS);
      const last = Math.ceil((top + innerHeight) / ROW_PX) + BEYOND_ROWS;
      const [from, until] = range.peek();
      if (from !== first || until !== last) range.value = [first, last];
      if (last >= rows.length) onEnd?.();
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [rows, onEnd]);
  const [from, until] = range.value;
  const tracks = { gridTemplateColumns: columns.map(({ width }) => width).join(" ") };
  return (
    <div class="table" role="table" aria-label={label} aria-rowcount={rows.length + 1}>
      <div role="rowgroup" class="table-head">
        <div role="row" class="row" style={tracks}>
          {columns.map(({ name }) => (
            <div role="columnheader" key={name}>
              {name}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="table-body" ref={body} style={{ height: `${rows.length * ROW_PX}px` }}>
        {rows.slice(from, until).map((row, index) => (
          <Row key={from + index} row={row} index={from + index} {...{ columns, to, tracks }} />
        ))}
      </div>
    </div>
  );
}

interface RowProps<Item> extends Pick<TableProps<Item>, "columns"> {
  readonly row: ReadonlySignal<Item | null>;
  readonly to: ((item: Item) => string) | undefined;
  readonly index: number;
  readonly tracks: Readonly<Record<string, string>>;
}

function Row<Item>({ row, index, columns, to, tracks }: RowProps<Item>) {
  const last = useRef<Item | null>(null);
  const isGone = useComputed(() => row.value === null);
  // What has gone stays, faded, so that no other row moves under the pointer.
  const item = row.value ?? last.current;
  last.current = item;
  if (item === null) return null;
  const target = to?.(item);
  const style = { ...tracks, transform: `translateY(${index * ROW_PX}px)` };
  return (
    <div
      role="row"
      class={`row ${isGone.value ? "gone" : ""}`}
      aria-rowindex={index + 2}
      style={style}
      onClick={(event) => {
        const isOwn =
          event.target instanceof Element && event.target.closest("a,button,summary,[popover]") !== null;
        if (target !== undefined && !isOwn && getSelection()?.isCollapsed !== false) go(target);
      }}
    >
      {columns.map(({ name, cell }, at) => (
        <div role="cell" key={name}>
          {at === 0 && target !== undefined ? <a href={href(target)}>{cell(item)}</a> : cell(item)}
        </div>
      ))}
    </div>
  );
}
