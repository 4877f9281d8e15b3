// Lists come in pages: newest first, with a cursor to the next page.

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}

/** A page that was asked how many there are. */
export interface CountedPage<Item, Counts> extends Page<Item> {
  /** By status: how many pass the filter, whatever its `status` and `alive` say, without those that are destroyed. Only where asked for. */
  readonly counts?: Counts;
}

export interface CountedPageOptions extends PageOptions {
  /** `true`: how many there are of each status too. */
  readonly counts?: boolean | undefined;
}

export interface PageOptions {
  /** Items per page: 1 to 500, default 50. */
  readonly limit?: number | undefined;
  /** `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** Every item of every page; asks for the next page only when it is wanted. */
export async function* everyItem<Item>(
  readPage: (cursor: string | undefined) => Promise<Page<Item>>,
): AsyncGenerator<Item, void> {
  let cursor: string | undefined;
  do {
    const page: Page<Item> = await readPage(cursor);
    yield* page.items;
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
}

export function pageQuery({
  limit,
  cursor,
  counts,
}: CountedPageOptions): Readonly<Record<string, string | undefined>> {
  return { limit: limit?.toString(), cursor, counts: counts?.toString() };
}

/** What lists of sandboxes and of machines are filtered by. */
export function filterQuery(filter: {
  readonly status?: string | undefined;
  readonly template?: string | undefined;
  readonly alive?: boolean | undefined;
  readonly crashLoop?: boolean | undefined;
  readonly unhealthy?: boolean | undefined;
  readonly host?: string | undefined;
  readonly owner?: string | undefined;
  readonly q?: string | undefined;
  readonly createdAfter?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}): Readonly<Record<string, string | undefined>> {
  const labels = Object.entries(filter.metadata ?? {}).map(([key, value]) => [`metadata.${key}`, value]);
  const { status, template, alive, host, owner, q, createdAfter: created_after, crashLoop } = filter;
  const crash_loop = crashLoop?.toString();
  const unhealthy = filter.unhealthy?.toString();
  const fields = {
    status,
    template,
    alive: alive?.toString(),
    crash_loop,
    unhealthy,
    host,
    owner,
    q,
    created_after,
  };
  return { ...fields, ...Object.fromEntries(labels) };
}
