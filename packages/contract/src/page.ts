// Lists are answered in pages.

import { Type, type Static, type TObject, type TSchema } from "typebox";
import { Nullable } from "./fields.ts";
import { PAGE_DEFAULT, PAGE_MAX } from "./bounds.ts";
import { countedStatuses, countsBy } from "./counts.ts";
import { exampleOf, named, type Named } from "./named.ts";

export const PageQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: PAGE_DEFAULT })),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: "`next_cursor` of the page before." })),
  },
  { additionalProperties: false },
);
export type PageQuery = Static<typeof PageQuery>;

/** A page of a list: newest first, `next_cursor` null on the last page. */
export function pageOf<Item extends TSchema & Named>(
  item: Item,
  id: string,
  exampleCursor: string | null = null,
) {
  const fields = { items: Type.Array(item), next_cursor: Nullable(Type.String()) };
  const example = { items: [exampleOf(item)], next_cursor: exampleCursor };
  return named(id, fields, example as Static<TObject<typeof fields>>);
}

/** Such a page that can also say how many there are of each status. */
export function countedPageOf<Item extends TSchema & Named, Status extends string>(
  item: Item,
  id: string,
  { statuses, exampleCursor }: { readonly statuses: readonly Status[]; readonly exampleCursor: string },
) {
  const page = pageOf(item, id, exampleCursor);
  const counts = countsBy(
    countedStatuses(statuses),
    "Only with `counts=true`: how many there are of each status that pass all other filters. Those that are destroyed are not counted.",
  );
  const fields = { ...page.properties, counts: Type.Optional(counts) };
  return named(id, fields, exampleOf(page) as Static<TObject<typeof fields>>);
}
