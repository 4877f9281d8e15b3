import type { DirectoryEntry } from "@skerry/contract/vms/files";
import { integer, natural } from "./numbers.ts";

/** A line of a directory listing, as the guest sent it. */
export function directoryEntryOf(line: Readonly<Record<string, unknown>>): DirectoryEntry {
  const { name, size, type, modified_ms: modifiedMs } = line;
  return {
    name: typeof name === "string" ? name : "",
    size: natural(size),
    type: type === "file" || type === "directory" || type === "symlink" ? type : "other",
    modified: timestamp(integer(modifiedMs)),
  };
}

/** A guest may set any file time; JavaScript's dates end at the year 275760. */
function timestamp(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9_999 || date.getUTCFullYear() < 0
    ? new Date(0).toISOString()
    : date.toISOString();
}
