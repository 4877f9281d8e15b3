// How many connections each guest of this host may have at once. Every one of them is an entry in a table of the machine's kernel, too;
// when that is full, the kernel drops every new connection of the machine, control's too.

import { readFile } from "node:fs/promises";
import type { Logger } from "pino";
import {
  CONNECTION_TABLE_FILE,
  connectionShare,
  GUEST_CONNECTIONS_MAX,
} from "@skerry/contract/hosts/connection-share";

export interface GuestConnectionsOptions {
  readonly vmMemoryMib: number;
  /** How many guests there are addresses for. */
  readonly slots: number;
  readonly log: Pick<Logger, "warn">;
  /** Where the kernel says how large its table is. */
  readonly tableFile?: string;
}

/** Call it after the first rules that look at connections have been loaded: before that the kernel has no
 *  table. */
export async function connectionsPerGuest(options: GuestConnectionsOptions): Promise<number> {
  const { log, tableFile = CONNECTION_TABLE_FILE } = options;
  const text = await readFile(tableFile, "utf8").catch((error: unknown) => {
    log.warn({ err: error }, "the size of the machine's table of connections is unknown");
  });
  if (text === undefined) return GUEST_CONNECTIONS_MAX;
  const tableMax = Number(text);
  const { guests, perGuest, needed } = connectionShare({ ...options, tableMax });
  if (perGuest < GUEST_CONNECTIONS_MAX) {
    log.warn(
      { nf_conntrack_max: tableMax, guests, per_guest: perGuest, needed },
      `each guest may have ${perGuest} connections at once instead of ${GUEST_CONNECTIONS_MAX}, because the machine's table has room for ` +
        `${tableMax}; sysctl -w net.netfilter.nf_conntrack_max=${needed} and a restart of the host give them all`,
    );
  }
  return perGuest;
}
