// Pages of sandboxes, and of machines.

import { countedStatuses, countsOf } from "@skerry/contract/counts";
import { countVms } from "./vm-count-store.ts";
import type { VmFilter } from "./vm-filter.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { templatesMeant } from "../templates/own-templates.ts";
import { checkText } from "../values/check-text.ts";
import { firstIdAt } from "@skerry/contract/ids";
import { readTime } from "../values/times.ts";
import { readPage, type Page, type PageParams } from "../values/page.ts";
import type { VmKind } from "./vm-kind.ts";

export interface VmListParams<Status extends string> extends PageParams {
  readonly status?: Status;
  /** Only those with one of them. */
  readonly statuses?: readonly Status[];
  readonly template?: string;
  readonly templates?: readonly string[];
  readonly host?: string;
  readonly owner?: string;
  readonly q?: string;
  readonly created_after?: string;
  readonly startedFrom?: Date;
  readonly alive?: boolean;
  readonly crash_loop?: boolean;
  readonly unhealthy?: boolean;
  readonly counts?: boolean;
  /** By age; default: the newest first. */
  readonly order?: "asc" | "desc";
  readonly metadata: Readonly<Record<string, string>>;
}

interface ListedKind<Row, Status extends string> extends Pick<VmKind, "noun" | "table"> {
  readonly statuses: readonly Status[];
  readonly statusesAlive: readonly Status[];
  readonly list: (filter: VmFilter<Status>) => Promise<Row[]>;
}

export interface CountedPage<Item, Status extends string> extends Page<Item> {
  /** By status; only where they are asked for. */
  readonly counts?: Record<Exclude<Status, "destroyed">, number>;
}

export async function readVmPage<Row extends { readonly id: string }, Status extends string>(
  context: Context,
  { noun, statuses: all, statusesAlive, list }: ListedKind<Row, Status>,
  { orgId }: Caller,
  params: VmListParams<Status>,
): Promise<CountedPage<Row, Status>> {
  for (const [name, value] of Object.entries(params.metadata)) checkText(`metadata.${name}`, name + value);
  for (const field of ["template", "host", "owner", "q"] as const) {
    const text = params[field];
    if (text !== undefined) checkText(field, text);
  }
  const {
    limit: _limit,
    cursor: _cursor,
    alive,
    status,
    template,
    counts,
    created_after,
    crash_loop: crashLoop = false,
    ...others
  } = params;
  const made = template === undefined ? {} : { templates: await templatesMeant(context.db, orgId, template) };
  const filter = { ...others, crashLoop, ...made, ...madeAfter(noun, created_after), orgId };
  const ofStatus = {
    ...(status === undefined ? {} : { status }),
    ...(alive === true ? { statuses: statusesAlive } : {}),
  };
  const [page, counted] = await Promise.all([
    readPage(noun, params, (before, limit) =>
      list({ ...filter, ...ofStatus, limit, ...(before === undefined ? {} : { before }) }),
    ),
    counts === true ? countVms(context.db, noun, filter) : undefined,
  ]);
  if (counted === undefined) return page;
  return { ...page, counts: countsOf(countedStatuses(all), Object.fromEntries(counted)) };
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
