// Pages of sandboxes, and of machines.

import type { VmFilter } from "./vm-filter.ts";
import type { Caller } from "../caller.ts";
import { checkText } from "../values/check-text.ts";
import { firstIdAt } from "@skerry/contract/ids";
import { readTime } from "../values/times.ts";
import { readPage, type Page, type PageParams } from "../values/page.ts";
import type { VmKind } from "./vm-kind.ts";

export interface VmListParams<Status extends string> extends PageParams {
  readonly status?: Status;
  readonly template?: string;
  readonly host?: string;
  readonly q?: string;
  readonly created_after?: string;
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
  for (const field of ["template", "host", "q"] as const) {
    const text = params[field];
    if (text !== undefined) checkText(field, text);
  }
  const { limit: _limit, cursor: _cursor, alive, created_after, ...others } = params;
  const filter = { ...others, ...madeAfter(noun, created_after) };
  const statuses = alive === true ? { statuses: statusesAlive } : {};
  return readPage(noun, params, (before, limit) =>
    list({ ...filter, ...statuses, orgId, limit, ...(before === undefined ? {} : { before }) }),
  );
}

/** Ids are made by the clocks of control planes and times by the database's; they never differ by more. */
const CLOCK_SLACK_MS = 10 * 60_000;

function madeAfter(
  noun: VmKind["noun"],
  text: string | undefined,
): Pick<VmFilter<string>, "createdAfter" | "notBefore"> {
  if (text === undefined) return {};
  const createdAfter = readTime("created_after", text);
  return { createdAfter, notBefore: firstIdAt(noun, createdAfter.getTime() - CLOCK_SLACK_MS) };
}
