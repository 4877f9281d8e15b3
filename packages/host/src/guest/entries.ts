// Entries of a guest's file system: what they are, and what becomes of them. What the guest answers is checked as it comes.

import { basename } from "node:path/posix";
import { ATTRIBUTES_MAX_BYTES, LIST_MAX_ENTRIES } from "@skerry/contract/bounds";
import { FrameError } from "@skerry/contract/frames";
import { SkerryError } from "@skerry/contract/errors";
import type { GuestOperation } from "@skerry/contract/guest-api/guest-operations";
import type { DirectoryEntry, DirectoryListing, FileInfo } from "@skerry/contract/vms/files";
import { readList, resultOf, type GuestList } from "./agent.ts";
import type { GuestChannel } from "./channel.ts";
import { JsonLines, ListFault, type LineBounds } from "./json-lines.ts";
import { integer, natural } from "./numbers.ts";
import { isPathBelow } from "./path-below.ts";
import { patiently } from "./patience.ts";

/** A path, the target of a link and attributes, of which each byte may need an escape, and the other fields. */
const LINE_MAX_BYTES = 84 * 1024;
/** That of an agent of an earlier version, which had lines of 2 KiB at most and no bound of its own. */
const LIST_BOUND_BYTES = LIST_MAX_ENTRIES * 2_048;
/** The largest tree takes its time, and a file system that hangs takes for ever. */
const TREE_DEADLINE_MS = 110_000;

export interface ListParams {
  readonly path: string;
  readonly depth?: number | undefined;
  readonly limit?: number | undefined;
}

export async function listDirectory(
  channel: GuestChannel,
  { path, depth = 1, limit = LIST_MAX_ENTRIES }: ListParams,
): Promise<DirectoryListing> {
  // An agent of an earlier version knows no depth.
  const operation = { op: "list", path, limit, ...(depth === 1 ? {} : { depth }) } as const;
  const bounds = { entriesMax: limit, lineMaxBytes: LINE_MAX_BYTES, maxBytes: LIST_BOUND_BYTES };
  const entryOf = (line: Line) => (depth === 1 ? entryOfLine(line) : entryBelow(line));
  const listing: GuestList<DirectoryEntry> = await readList(channel, operation, { bounds, entryOf });
  return { entries: listing.entries, truncated: listing.truncated };
}

export function statEntry(channel: GuestChannel, path: string, follow: boolean): Promise<FileInfo> {
  return describedBy(channel, { op: "stat", path, follow }, path);
}

/** Also the missing ones above it. One that is there stays as it is. */
export function makeDirectory(channel: GuestChannel, path: string, mode: number): Promise<FileInfo> {
  return describedBy(channel, { op: "mkdir", path, mode }, path);
}

export function setMode(channel: GuestChannel, path: string, mode: number): Promise<FileInfo> {
  return describedBy(channel, { op: "chmod", path, mode }, path);
}

/** Between two file systems it is copied. `gone`: the caller has left, and what has not been done is not. */
export function moveEntry(
  channel: GuestChannel,
  { path, to, gone }: { readonly path: string; readonly to: string; readonly gone: AbortSignal },
): Promise<FileInfo> {
  return describedBy(channel, { op: "move", path, to }, to, gone);
}

export async function removeEntry(
  channel: GuestChannel,
  {
    path,
    recursive,
    gone,
  }: { readonly path: string; readonly recursive: boolean; readonly gone: AbortSignal },
): Promise<void> {
  const stream = channel.open({ op: "remove", path, recursive });
  await patiently(channel, stream, { deadlineMs: TREE_DEADLINE_MS, gone }, resultOf(stream));
}

type Line = Readonly<Record<string, unknown>>;

const ONE_LINE: LineBounds = { entriesMax: 1, lineMaxBytes: LINE_MAX_BYTES, maxBytes: LINE_MAX_BYTES };

/** For an operation that answers one line, about what is at `path` then. */
async function describedBy(
  channel: GuestChannel,
  operation: GuestOperation,
  path: string,
  gone?: AbortSignal,
): Promise<FileInfo> {
  const stream = channel.open(operation);
  const lines = new JsonLines(ONE_LINE, (line) => infoOf(line, path));
  const read = async (): Promise<FileInfo> => {
    for (let part = await stream.read(); part !== undefined; part = await stream.read())
      lines.push(part.bytes);
    await resultOf(stream);
    const [info] = lines.entries;
    if (info === undefined) throw new ListFault("there is no line");
    return info;
  };
  try {
    return await patiently(channel, stream, { deadlineMs: TREE_DEADLINE_MS, gone }, read());
  } catch (error) {
    if (!(error instanceof ListFault || error instanceof FrameError)) throw error;
    channel.close("the guest's agent sent an entry that is none");
    throw new SkerryError("guest_failed", "The VM's agent told something of a file that cannot be.", {
      cause: error,
    });
  }
}

function entryOfLine(line: Line): DirectoryEntry {
  const { name } = line;
  return { name: typeof name === "string" ? name : "", ...detailsOf(line), ...ownershipOf(line) };
}

function entryBelow(line: Line): DirectoryEntry {
  const { name: path } = line;
  if (typeof path !== "string" || !isPathBelow(path)) throw new ListFault("a path is none");
  return { ...entryOfLine({ ...line, name: basename(path) }), path };
}

function infoOf(line: Line, path: string): FileInfo {
  const unknown = { mode: "0000", owner: "", group: "" };
  const trimmed = path.replace(/(?<=.)\/+$/, "");
  return { path: trimmed, name: basename(trimmed), ...detailsOf(line), ...unknown, ...ownershipOf(line) };
}

function detailsOf({
  size,
  type,
  modified_ms: modifiedMs,
}: Line): Pick<FileInfo, "size" | "type" | "modified"> {
  return {
    size: natural(size),
    type: type === "file" || type === "directory" || type === "symlink" ? type : "other",
    modified: timestamp(integer(modifiedMs)),
  };
}

const MODE_MAX = 0o7777;
const NAME_MAX_CHARS = 100;
const TARGET_MAX_CHARS = 4_096;
/** The shortest has a prefix of five bytes and a name of one. */
const ATTRIBUTES_TOLD_MAX = Math.ceil(ATTRIBUTES_MAX_BYTES / 6);

/** What an agent of an earlier version does not tell. */
function ownershipOf({ mode, owner, group, target, attributes }: Line) {
  const told = attributesOf(attributes);
  return {
    ...(typeof mode === "number" && { mode: Math.min(natural(mode), MODE_MAX).toString(8).padStart(4, "0") }),
    ...(typeof owner === "string" && { owner: owner.slice(0, NAME_MAX_CHARS) }),
    ...(typeof group === "string" && { group: group.slice(0, NAME_MAX_CHARS) }),
    ...(typeof target === "string" && { target: target.slice(0, TARGET_MAX_CHARS) }),
    ...(told !== undefined && { attributes: told }),
  };
}

/** As many as an honest agent tells. A line is bounded, so each is. */
function attributesOf(told: unknown): Record<string, string> | undefined {
  if (typeof told !== "object" || told === null) return undefined;
  const texts = Object.entries(told).filter((pair): pair is [string, string] => typeof pair[1] === "string");
  return texts.length === 0 ? undefined : Object.fromEntries(texts.slice(0, ATTRIBUTES_TOLD_MAX));
}

/** A guest may set any file time; JavaScript's dates end at the year 275760. */
function timestamp(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9_999 || date.getUTCFullYear() < 0
    ? new Date(0).toISOString()
    : date.toISOString();
}
