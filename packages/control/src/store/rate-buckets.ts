// Tickets for requests, one bucket per token and class. A ticket is gone from here before anybody uses it, so replicas that share
// this table never grant more than there is.

import { sql } from "kysely";
import type { RateClass } from "@skerry/contract/access";
import type { Database } from "./database.ts";
import { prepared } from "./prepared.ts";

export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

export interface TicketWish {
  readonly tokenId: string;
  readonly rateClass: RateClass;
  /** Whose exceptions count. */
  readonly orgId: string;
  readonly count: number;
  /** Where the organization has no exception. */
  readonly rate: Rate;
  /** Seconds' worth of tickets that the bucket is kept below its brim: as many may be on their way elsewhere. */
  readonly slackS: number;
}

export interface Tickets {
  readonly granted: number;
  /** Left in the bucket, with fractions. */
  readonly available: number;
  readonly rate: Rate;
}

/** Takes as many tickets as there are, up to `count`. */
export async function takeTickets(db: Database, wish: TicketWish): Promise<Tickets> {
  const { tokenId, rateClass, orgId, count, rate, slackS } = wish;
  const perMinute = `rate_${rateClass}_per_minute`;
  const burst = `rate_${rateClass}_burst`;
  // What is in the bucket now: what it had, and what has flowed in since, up to its brim. The clock and not `now()`, which is
  // from before we waited for the row.
  const filled = sql`least(
    (select brim from policy),
    b.available + greatest(0, extract(epoch from excluded.refilled_at - b.refilled_at)) * (select per_minute from policy) / 60.0
  )`;
  const taken = sql`least(${count}::integer, floor(${filled}))`;
  const { rows } = await sql<{ granted: number; available: number; per_minute: number; burst: number }>`
    with exceptions as (
      select
        coalesce(max(value) filter (where name = ${perMinute}), ${rate.perMinute}::integer) as per_minute,
        coalesce(max(value) filter (where name = ${burst}), ${rate.burst}::integer) as burst
      from organization_limits where org_id = ${orgId} and name in (${perMinute}, ${burst})
    ), policy as (
      select per_minute, burst,
        case when burst < ${SLACK_BURST_MIN} then burst else greatest(1, burst - ceil(per_minute * ${slackS}::double precision / 60)) end as brim
      from exceptions
    )
    insert into rate_buckets as b (token_id, class, available, granted, refilled_at)
    select ${tokenId}, ${rateClass}, brim - least(${count}::integer, brim), least(${count}::integer, brim), clock_timestamp()
    from policy
    on conflict (token_id, class) do update set
      available = ${filled} - ${taken},
      granted = ${taken},
      refilled_at = greatest(b.refilled_at, excluded.refilled_at)
    returning granted, available, (select per_minute from policy), (select burst from policy) ${prepared}`.execute(
    db,
  );
  const [row] = rows;
  if (row === undefined) throw new Error("an upsert returned no row");
  return {
    granted: row.granted,
    available: row.available,
    rate: { perMinute: row.per_minute, burst: row.burst },
  };
}

/** Below this burst tickets are fetched one by one, none lies anywhere else, and the bucket may be full to its brim. */
export const SLACK_BURST_MIN = 128;

/** Removes up to `limit` buckets that nobody has asked for a day: by now they are full, as a new one is. Returns how many. */
export async function sweepBuckets(db: Database, limit: number): Promise<number> {
  const { rows } = await sql`
    delete from rate_buckets where (token_id, class) in (
      select token_id, class from rate_buckets where refilled_at < now() - interval '1 day'
      limit ${limit} for update skip locked
    ) returning 1`.execute(db);
  return rows.length;
}
