// Tickets for requests: each class of call has a bucket for every token and one for every organization, and a request needs a ticket of
// both, or of the token's alone. A ticket is gone from here before a request uses it, so replicas that share this table never grant more than there is.

import { sql } from "kysely";
import type { RateClass } from "@skerry/contract/limits/rate-classes";
import { ORGANIZATION_RATE_FACTOR } from "@skerry/contract/limits/quotas";
import type { Database } from "../db/database.ts";
import { prepared } from "../db/prepared.ts";

export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

/** Which buckets a ticket comes from: the token's and its organization's, or the token's alone. */
export type TicketOf = "both" | "token";

export interface TicketRequest {
  readonly tokenId: string;
  readonly rateClass: RateClass;
  readonly ticketOf: TicketOf;
  /** Whose exceptions count, and whose bucket is the second one. */
  readonly orgId: string;
  readonly count: number;
  /** Of a token, where the organization has no exception. */
  readonly rate: Rate;
  /** Seconds' worth of tickets that the buckets are kept below their brims: as many may be on their way elsewhere. */
  readonly slackS: number;
}

export interface Bucket {
  readonly of: "token" | "organization";
  /** Left in it, with fractions. */
  readonly available: number;
  readonly rate: Rate;
}

export interface Tickets {
  readonly granted: number;
  readonly token: Bucket;
  /** Undefined where the tickets are the token's alone. */
  readonly organization: Bucket | undefined;
}

/** Takes as many tickets as all asked buckets have, up to `count`, from each of them. */
export async function takeTickets(db: Database, request: TicketRequest): Promise<Tickets> {
  const { tokenId, rateClass, ticketOf, orgId, count, rate, slackS } = request;
  const buckets = ticketOf === "both" ? 2 : 1;
  const perMinute = `rate_${rateClass}_per_minute`;
  const burst = `rate_${rateClass}_burst`;
  const { rows } = await sql<{
    given: number;
    left_over: readonly [ofToken: number, ofOrganization?: number];
    per_minute: number;
    burst: number;
  }>`
    with exceptions as (
      select
        coalesce(max(value) filter (where name = ${perMinute}), ${rate.perMinute}::integer)::double precision as per_minute,
        coalesce(max(value) filter (where name = ${burst}), ${rate.burst}::integer)::double precision as burst
      from organization_limits where org_id = ${orgId} and name in (${perMinute}, ${burst})
    ), policy as (
      select per_minute, burst,
        case when burst < ${SLACK_BURST_MIN} then 0 else ceil(per_minute * ${slackS}::double precision / 60) end as slack,
        ${ORGANIZATION_RATE_FACTOR}::double precision as factor
      from exceptions
    )
    select given, left_over, per_minute, burst
    from policy, take_tickets(
      (array[${tokenId}, ${orgId}]::text[])[1:${buckets}::integer], ${rateClass}, ${count}::integer,
      array[per_minute, factor * per_minute],
      array[greatest(least(1, burst), burst - slack), greatest(least(1, factor * burst), factor * (burst - slack))]
    ) ${prepared}`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("a function returned no row");
  const [ofToken, ofOrganization] = row.left_over;
  const own = { perMinute: row.per_minute, burst: row.burst };
  const shared = {
    perMinute: own.perMinute * ORGANIZATION_RATE_FACTOR,
    burst: own.burst * ORGANIZATION_RATE_FACTOR,
  };
  return {
    granted: row.given,
    token: { of: "token", available: ofToken, rate: own },
    organization:
      ofOrganization === undefined
        ? undefined
        : { of: "organization", available: ofOrganization, rate: shared },
  };
}

/** Below this burst of a token tickets are fetched one by one, none lies anywhere else, and both buckets may be full to their brims. */
export const SLACK_BURST_MIN = 128;

/** Removes up to `limit` buckets that were not used for a day: by now they are full, as a new one is. Those of tokens that have ended go before that:
 *  a caller that mints and revokes tokens would leave some for each. Returns how many. */
export async function sweepRateBuckets(db: Database, limit: number): Promise<number> {
  const { rows } = await sql`
    delete from rate_buckets where (token_id, class) in (
      select token_id, class from rate_buckets b
      where refilled_at < now() - interval '1 day' or refilled_at < now() - interval '10 minutes' and exists (
        select from api_tokens t where t.id = b.token_id and least(t.revoked_at, t.expires_at) < now())
      limit ${limit} for update of b skip locked
    ) returning 1`.execute(db);
  return rows.length;
}
