// Pages of sandboxes, and of machines.

import type { VmFilter } from "./vm-filter.ts";
import type { Caller } from "../caller.ts";
import { checkText } from "../values/check-text.ts";
import { readPage, type Page, type PageParams } from "../values/page.ts";
import type { VmKind } from "./vm-kind.ts";

export interface VmListParams<Status extends string> extends PageParams {
  readonly status?: Status;
  readonly template?: string;
  readonly alive?: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

export async function readVmPage<Row extends { readonly id: string }, Status extends string>(
  { noun, statusesAlive }: { readonly noun: VmKind["noun"]; readonly statusesAlive: readonly Status[] },
  { orgId }: Caller,
  params: VmListParams<Status>,
  list: (filter: VmFilter<Status>) => Promise<Row[]>,
): Promise<Page<Row>> {
  for (const [name, value] of Object.entries(params.metadata)) checkText(`metadata.${name}`, name + value);
  if (params.template !== undefined) checkText("template", params.template);
  const { limit: _limit, cursor: _cursor, alive, ...filter } = params;
  const statuses = alive === true ? { statuses: statusesAlive } : {};
  return readPage(noun, params, (before, limit) =>
    list({ ...filter, ...statuses, orgId, limit, ...(before === undefined ? {} : { before }) }),
  );
}
