// The connections that each guest may have. The host goes by it, and `skerry doctor` shows it.

import { sizes } from "../sizes.ts";

/** The kernel's table of connections, which the machine shares with all its guests. 0: it has no end. */
export const CONNECTION_TABLE_FILE = "/proc/sys/net/netfilter/nf_conntrack_max";

/** Connections that a guest may have at once, where the table has room for as many of every guest. */
export const GUEST_CONNECTIONS_MAX = 1_024;
/** With fewer, ordinary programs fail; a table that has not even these for every guest can be filled by
 *  them. */
const GUEST_CONNECTIONS_MIN = 64;
/** Of the table. The rest is for the machine's own connections, control's and PostgreSQL's among them. */
const GUESTS_PART = 3 / 4;
const SMALLEST_MIB = Math.min(...sizes.map(({ memory_mib }) => memory_mib));

export interface ConnectionShare {
  /** For how many the machine has memory and slots. */
  readonly guests: number;
  readonly perGuest: number;
  /** Size of a table with which each may have `GUEST_CONNECTIONS_MAX`. */
  readonly needed: number;
}

/** How many connections each guest may have at once, so that all of them together leave the machine its
 *  own. */
export function connectionShare({
  tableMax,
  vmMemoryMib,
  slots = Infinity,
}: {
  readonly tableMax: number;
  readonly vmMemoryMib: number;
  readonly slots?: number;
}): ConnectionShare {
  const guests = Math.max(1, Math.min(slots, Math.floor(vmMemoryMib / SMALLEST_MIB)));
  const share = tableMax === 0 ? Infinity : Math.floor((tableMax * GUESTS_PART) / guests);
  return {
    guests,
    perGuest: Math.max(GUEST_CONNECTIONS_MIN, Math.min(GUEST_CONNECTIONS_MAX, share)),
    needed: Math.ceil((guests * GUEST_CONNECTIONS_MAX) / GUESTS_PART),
  };
}
