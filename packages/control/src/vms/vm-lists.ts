// Pages of sandboxes, and of machines.

import type { VmFilter } from "./vm-filter.ts";
import type { Caller } from "../caller.ts";
import { checkText } from "../values/env.ts";
import { readPage, type Page, type PageWish } from "../values/page.ts";
import type { VmKind } from "./vm-kind.ts";

export interface VmListWish<Status extends string> extends PageWish {
  readonly status?: Status;
  readonly template?: string;
  readonly metadata: Readonly<Record<string, string>>;
}

export async function readVmPage<Row extends { readonly id: string }, Status extends string>(
  noun: VmKind["noun"],
  { orgId }: Caller,
  wish: VmListWish<Status>,
  list: (filter: VmFilter<Status>) => Promise<Row[]>,
): Promise<Page<Row>> {
  for (const [name, value] of Object.entries(wish.metadata)) checkText(`metadata.${name}`, name + value);
  if (wish.template !== undefined) checkText("template", wish.template);
  const { limit: _limit, cursor: _cursor, ...filter } = wish;
  return readPage(noun, wish, (before, limit) =>
    list({ ...filter, orgId, limit, ...(before === undefined ? {} : { before }) }),
  );
}
