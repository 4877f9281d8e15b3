// Rows of what organizations have had, one for each minute in which one had something.

import { sql, type RawBuilder } from "kysely";
import { firstIdAt } from "@skerry/contract/ids";
import type { UsagePoint } from "@skerry/contract/usage/usage";
import { USAGE_MINUTES_MERGED } from "@skerry/contract/usage/usage";
import type { Database } from "../db/database.ts";
import { daysAgo } from "../db/steady-time.ts";

/** Ids are made by the clocks of control planes and times by the database's; they never differ by more. */
const CLOCK_SLACK_MS = 10 * 60_000;
/** A transaction that makes a sandbox commits within this. */
const RECOUNTED_MS = 15 * 60_000;
/** In a minute. What hosts lie beyond it must not fill the column, whose sums JavaScript reads. */
const DENIED_MAX = 1_000_000_000_000;

const columns = sql`org_id, minute, sandboxes, machines, vcpus, memory_mib, disk_gib, created, denied`;
const minuteOf = (time: RawBuilder<unknown>) => sql`floor(extract(epoch from ${time}) / 60)::integer`;
const thisMinute = minuteOf(sql`now()`);

/** Measures this minute. A second time in the same minute keeps the most of both. Returns how many organizations have something. */
export async function measureUsage(db: Database): Promise<number> {
  const { numAffectedRows } = await sql`
    insert into usage_samples (${columns})
    select account, ${thisMinute}, sum(sandboxes), sum(machines), sum(vcpus), sum(memory_mib), sum(disk_gib), 0, 0
    from capacity_entries join organizations on organizations.id = account
    -- Builds take vCPUs, and are neither of the two.
    group by account having sum(sandboxes) + sum(machines) > 0 or sum(vcpus) > 0
    union all
    select '', ${thisMinute}, 0, 0, 0, 0, 0, 0, 0
    on conflict (org_id, minute) do update set ${theMost}`.execute(db);
  return Math.max(0, Number(numAffectedRows ?? 1n) - 1);
}

const theMost = sql.join(
  ["sandboxes", "machines", "vcpus", "memory_mib", "disk_gib"].map(
    (column) =>
      sql`${sql.ref(column)} = greatest(usage_samples.${sql.ref(column)}, excluded.${sql.ref(column)})`,
  ),
);

/** Counts what was made in the last minutes from its rows: making it costs nothing more, and what commits late is counted later. */
export async function countCreations(db: Database): Promise<void> {
  const made = (noun: "sandbox" | "machine") => sql`
    select org_id, created_at from vms
    where kind = ${noun} and id >= ${firstIdAt(noun, Date.now() - RECOUNTED_MS - CLOCK_SLACK_MS)}
      and created_at >= now() - ${RECOUNTED_MS} * interval '1 millisecond'`;
  await sql`
    insert into usage_samples (org_id, minute, created)
    select org_id, ${minuteOf(sql`created_at`)}, count(*)
    from (${made("sandbox")} union all ${made("machine")}) made
    group by 1, 2
    on conflict (org_id, minute) do update set created = excluded.created
    where usage_samples.created < excluded.created`.execute(db);
}

/** What a host has counted of one of its VMs in one minute. */
export interface HostDenials {
  readonly id: string;
  readonly minute: number;
  readonly packets: number;
  /** Id of the host. */
  readonly host: string;
}

/**
 * Adds them up for the organizations that they belong to; a second time, the most of both counts. A host speaks of the VMs that are, or were last,
 * its own, and of the minutes that it was asked for, whatever it says. Returns how many were not counted
 * before.
 */
export async function storeDenials(
  db: Database,
  told: readonly HostDenials[],
  { sinceMinute }: { readonly sinceMinute: number },
): Promise<number> {
  if (told.length === 0) return 0;
  const { rows } = await sql<{ added: number }>`
    with told as (
      select * from jsonb_to_recordset(${JSON.stringify(told)}::jsonb)
        as told (id text, minute bigint, packets bigint, host text)
      where minute >= ${sinceMinute} and minute <= ${thisMinute}
    ), summed as (
      select org_id, minute::integer, least(sum(packets), ${DENIED_MAX}) as denied
      from told join vms on vms.id = told.id and vms.host_id = told.host
      group by 1, 2
    ), before as (
      select usage_samples.org_id, usage_samples.minute, usage_samples.denied
      from usage_samples join summed using (org_id, minute)
    ), written as (
      insert into usage_samples (org_id, minute, denied) select org_id, minute, denied from summed
      on conflict (org_id, minute) do update set denied = excluded.denied
      where usage_samples.denied < excluded.denied
      returning org_id, minute, denied
    )
    select coalesce(sum(written.denied - coalesce(before.denied, 0)), 0)::float8 as added
    from written left join before using (org_id, minute)`.execute(db);
  return rows[0]?.added ?? 0;
}

export interface UsageRange {
  readonly orgId: string;
  /** Minutes since 1970: the first, and the one after the last. */
  readonly from: number;
  readonly to: number;
  readonly stepMinutes: number;
}

interface StepRow extends Omit<UsagePoint, "at" | "memory_mib" | "disk_gib" | "denied"> {
  readonly minute: number;
  readonly memory_mib: string;
  readonly disk_gib: string;
  readonly denied: string;
}

/** Oldest first, without steps that were not measured. */
export async function usageSteps(
  db: Database,
  { orgId, from, to, stepMinutes }: UsageRange,
): Promise<StepRow[]> {
  const step = sql`minute - minute % ${stepMinutes}::integer as step`;
  const inRange = sql`minute >= ${from} and minute < ${to}`;
  const { rows } = await sql<StepRow>`
    select measured.step as minute,
           coalesce(max(sandboxes), 0) as sandboxes, coalesce(max(machines), 0) as machines,
           coalesce(max(vcpus), 0) as vcpus, coalesce(max(memory_mib), 0) as memory_mib,
           coalesce(max(disk_gib), 0) as disk_gib, coalesce(sum(created), 0)::integer as created,
           coalesce(sum(denied), 0)::bigint as denied
    from (select distinct ${step} from usage_samples where org_id = '' and ${inRange}) measured
    left join (select *, ${step} from usage_samples where org_id = ${orgId} and ${inRange}) had
      on had.step = measured.step
    group by measured.step order by measured.step`.execute(db);
  return rows;
}

/** Makes one row of each ten minutes that are older, `limit` rows at once. Returns how many rows went into others. */
export async function mergeUsage(db: Database, olderThanDays: number, limit: number): Promise<number> {
  const { rows } = await sql<{ merged: number }>`
    with old as (
      select org_id, minute from usage_samples
      -- As its index has it.
      where minute % 10 <> 0 and minute < ${minuteOf(daysAgo(olderThanDays))}
      order by minute limit ${limit}
    ), gone as (
      delete from usage_samples using old
      where usage_samples.org_id = old.org_id and usage_samples.minute = old.minute returning usage_samples.*
    ), merged as (
      insert into usage_samples (${columns})
      select org_id, minute - minute % ${USAGE_MINUTES_MERGED}::integer, max(sandboxes), max(machines), max(vcpus),
             max(memory_mib), max(disk_gib), sum(created), sum(denied)
      from gone group by 1, 2
      on conflict (org_id, minute) do update set ${theMost}, created = usage_samples.created + excluded.created,
        denied = usage_samples.denied + excluded.denied
    )
    select count(*)::integer as merged from gone`.execute(db);
  return rows[0]?.merged ?? 0;
}

/** Deletes up to `limit` rows past this age, and returns how many. */
export async function forgetUsage(db: Database, olderThanDays: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from usage_samples where (org_id, minute) in (
      select org_id, minute from usage_samples
      where minute < ${minuteOf(daysAgo(olderThanDays))} order by minute limit ${limit}
    )`.execute(db);
  return Number(numAffectedRows ?? 0);
}
