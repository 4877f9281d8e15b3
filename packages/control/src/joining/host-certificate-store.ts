import { sql } from "kysely";
import { SET_BACK } from "../db/clock-set-back.ts";
import type { Queries } from "../db/database.ts";
import { isAway, type Certification } from "./certificate-authority-store.ts";

/** Hosts that answer and whose certificate ends within this time, or later than one of now would, that have none, or that have another than they are to
 *  have. In no order: one that fails again and again does not keep the others waiting. */
export async function hostsToCertify(
  db: Queries,
  {
    withinMs,
    lifetimeMs,
    wanted,
    limit,
  }: {
    readonly withinMs: number;
    readonly lifetimeMs: number;
    readonly wanted: Certification;
    readonly limit: number;
  },
): Promise<readonly { readonly id: string; readonly address: string }[]> {
  const { rows } = await sql<{ id: string; address: string }>`
    select id, address from hosts
    where removed_at is null and not ${isAway}
      and (coalesce(certificate_expires_at, now()) < now() + ${withinMs}::double precision * interval '1 millisecond'
        or certificate_expires_at > now() + ${lifetimeMs}::double precision * interval '1 millisecond' + ${SET_BACK}
        or certified_by is distinct from ${wanted.certifiedBy}
        or not (trusts @> ${wanted.trusts}::integer[] and trusts <@ ${wanted.trusts}::integer[]))
    order by random()
    limit ${limit}`.execute(db);
  return rows;
}
