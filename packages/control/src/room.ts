// The part of a room in work on all that an organization or a host has, and in the sweeping of old rows.
// `app/rooms.ts` lists the rooms. The code that deletes an organization, removes a host or sweeps calls each
// room of the list, and knows none.

import type { Database, Queries } from "./db/database.ts";
import type { Kept } from "./db/keep-newest.ts";

/**
 * Removes at most `limit` rows that are kept for a while only, of all organizations. Resolves with their
 * number.
 */
export type Sweep = (db: Database, limit: number) => Promise<number>;

/** The same of one organization. */
export type OrganizationSweep = (db: Database, orgId: string, limit: number) => Promise<number>;

export interface Room {
  /** Sweeps, by the name that the log has for each. */
  readonly sweeps?: Readonly<Record<string, Sweep>>;
  readonly organizationSweeps?: Readonly<Record<string, OrganizationSweep>>;
  /** Rules by which the newest rows of an organization are kept. */
  readonly kept?: Readonly<Record<string, Kept>>;
  /** Runs in the transaction that deletes the organization. Throws to prevent it. */
  onOrganizationDeleted?(transaction: Queries, orgId: string): Promise<void>;
  /** Runs in the transaction that replaces the private networks that the organization was granted. */
  onPrivateCidrs?(
    transaction: Queries,
    grant: { readonly orgId: string; readonly cidrs: readonly string[] },
  ): Promise<void>;
  /** Runs in the transaction that removes the host, from which nothing comes back. */
  onHostRemoved?(transaction: Queries, hostId: string): Promise<void>;
  /** Confirms destructions that no host is left to confirm. Resolves with their number. */
  endOnRemovedHosts?(db: Queries): Promise<number>;
}
