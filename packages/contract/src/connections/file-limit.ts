// The files that a process may have open, and the connections that it takes with them.

import { readFileSync } from "node:fs";
import type { ConnectionBounds } from "./connection-table.ts";

const LIMITS_FILE = "/proc/self/limits";
/** Where the system does not tell: what Linux gives at least. */
const UNKNOWN_LIMIT = 1_024;

/** Read in each process anew: Node raises the limit to the hard one when it starts. */
export function fileLimit(text = readLimits()): number {
  const [, soft = ""] = /^Max open files +(\S+)/m.exec(text) ?? [];
  return soft === "unlimited" ? FILES_MAX : Number(soft) || UNKNOWN_LIMIT;
}

function readLimits(): string {
  try {
    return readFileSync(LIMITS_FILE, "utf8");
  } catch {
    return "";
  }
}

/**
 * The files that control and a host may have open, as `skerry up` and the units of `skerry install` set it:
 * those of connections, and one for each connection of a forward, of which 16,384 may be open for one
 * organization. It is what systemd allows by default.
 */
export const SERVICE_FILES = 524_288;

export const SILENT_PER_ADDRESS = 512;
/** systemd allows 524,288 files: so many connections would end for want of memory first. */
const FILES_MAX = 65_536;
const CLOSABLE_MAX = 16_384;
const CLOSABLE_PART = 0.8;
/** For PostgreSQL, logs, listeners, the files of the dashboard, registries and the object store. */
const OTHER_FILES = 256;
const OTHER_FILES_PART = 1 / 20;
const OWNER_PART = 1 / 8;

/** What a process with so many files takes. */
export function connectionBounds(limit: number, perAddress = SILENT_PER_ADDRESS): ConnectionBounds {
  const all = Math.min(limit, FILES_MAX);
  const others = Math.min(all / 2, Math.max(OTHER_FILES, all * OTHER_FILES_PART));
  const files = Math.floor(all - others);
  return {
    perAddress,
    closable: Math.min(CLOSABLE_MAX, Math.floor(files * CLOSABLE_PART)),
    files,
    perOwner: Math.ceil(files * OWNER_PART),
  };
}
