// Cursors of lists. A cursor is the id of the last item shown, wrapped so that clients do not build on what is inside.

import { SkerryError } from "@skerry/contract/errors";
import { isId, type IdKind } from "@skerry/contract/ids";
import { PAGE_DEFAULT } from "@skerry/contract/bounds";

export interface PageParams {
  readonly limit?: number;
  readonly cursor?: string;
}

export interface Page<Item> {
  readonly items: Item[];
  readonly next_cursor: string | null;
}

/** Fetches one item more than asked for: its presence says that there is a next page. */
export async function readPage<Item extends { readonly id: string }>(
  kind: IdKind,
  params: PageParams,
  fetch: (before: string | undefined, limit: number) => Promise<Item[]>,
): Promise<Page<Item>> {
  const limit = params.limit ?? PAGE_DEFAULT;
  const before = params.cursor === undefined ? undefined : decodeCursor(kind, params.cursor);
  const found = await fetch(before, limit + 1);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const more = found.length > limit && last !== undefined;
  return { items, next_cursor: more ? Buffer.from(last.id).toString("base64url") : null };
}

function decodeCursor(kind: IdKind, cursor: string): string {
  const id = Buffer.from(cursor, "base64url").toString("latin1");
  if (isId(kind, id)) return id;
  throw new SkerryError("bad_request", `"cursor" does not come from this list.`, {
    remediation: "Send `next_cursor` of the page before as it is, or no cursor for the first page.",
    context: { field: "cursor" },
  });
}
