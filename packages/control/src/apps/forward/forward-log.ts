// One pass over the log of an app: reads lines behind the cursors of its instances, and has a receiver take
// them. Cursors are written after that, so a pass that breaks off sends its last batch once more.

import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../../context.ts";
import { isWanted } from "../../machines/log-lines.ts";
import type { ForwardedLine } from "./forwarded-line.ts";
import { instanceLines, instancesWithLogs, nameOf, type LoggedInstance } from "../logs/instance-log.ts";
import { cursorsOf, saveCursors, type ForwardJob, type LogCursorRow } from "./log-forward-store.ts";
import { isAway } from "../logs/app-logs.ts";
import { levelOf } from "../logs/log-level.ts";
import { formatPlace, parsePlace } from "../logs/log-place.ts";
import { sendLines } from "./send-lines.ts";

const BATCH_MAX_LINES = 500;
const BATCH_MAX_CHARS = 256 * 1024;
/** Bound of one pass. What is left comes in the next one, when others had their turn. */
const BATCHES_MAX = 20;
/** Wait for a host that says nothing. */
const READ_MS = 15_000;
/** Lines that only end an instance's part of a batch. */
const PART_MIN_LINES = 10;

/** Resolves with how many lines were sent. Throws `ForwardFault`. */
export async function forwardLog(context: Context, job: ForwardJob, stop: AbortSignal): Promise<number> {
  let sent = 0;
  for (let batches = 0; batches < BATCHES_MAX && !stop.aborted; batches += 1) {
    const { lines, cursors, isFull } = await nextBatch(context, job, stop);
    if (lines.length > 0) await sendLines(context, job, { lines, stop });
    await saveCursors(context.db, job, cursors);
    sent += lines.length;
    if (!isFull) break;
  }
  return sent;
}

interface Batch {
  readonly lines: readonly ForwardedLine[];
  readonly cursors: readonly LogCursorRow[];
  /** There may be more. */
  readonly isFull: boolean;
}

async function nextBatch(context: Context, job: ForwardJob, stop: AbortSignal): Promise<Batch> {
  const instances = await instancesWithLogs(context.db, job.app_id, job.created_at);
  const cursors = await cursorsOf(context.db, job);
  const left = instances.filter(({ machine_id }) => cursors.get(machine_id)?.is_done !== true);
  // Each instance has its part, so that none that prints much holds up another.
  const count = Math.max(1, left.length);
  const bounds = {
    lines: Math.max(PART_MIN_LINES, Math.floor(BATCH_MAX_LINES / count)),
    chars: Math.floor(BATCH_MAX_CHARS / count),
  };
  const parts: Part[] = [];
  const changed: LogCursorRow[] = [];
  for (const one of left) {
    const cursor = cursors.get(one.machine_id);
    const part = await partOf(context, job, { one, cursor, bounds, stop });
    parts.push(part);
    changed.push(...[cursorOf(one, cursor, part)].filter((row) => row !== undefined));
  }
  return {
    lines: parts.flatMap(({ lines }) => lines).toSorted((one, other) => one.atMs - other.atMs),
    cursors: changed,
    isFull: parts.some((part) => part.isFull),
  };
}

interface Part {
  readonly lines: ForwardedLine[];
  /** Undefined: nothing of it was read. */
  place: string | undefined;
  /** There is more. */
  isFull: boolean;
  /** The log was read to its end. */
  isRead: boolean;
}

interface Reading {
  readonly one: LoggedInstance;
  readonly cursor: LogCursorRow | undefined;
  readonly bounds: { readonly lines: number; readonly chars: number };
  readonly stop: AbortSignal;
}

/** A host that is away holds up no other one: its lines come when it is back. */
async function partOf(context: Context, job: ForwardJob, reading: Reading): Promise<Part> {
  const { one, cursor } = reading;
  const before = cursor?.place ?? firstPlace(job, one);
  const part: Part = { lines: [], place: before, isFull: false, isRead: false };
  try {
    await readPart(context, job, { ...reading, part });
  } catch (error) {
    // Otherwise its host broke off in the middle, or says nothing.
    if (error instanceof SkerryError && !isAway(error)) throw error;
  }
  return part;
}

async function readPart(
  context: Context,
  job: ForwardJob,
  { one, bounds, stop, part }: Reading & { readonly part: Part },
): Promise<void> {
  const gone = AbortSignal.any([stop, AbortSignal.timeout(READ_MS)]);
  const after = part.place === undefined ? undefined : parsePlace(part.place);
  let chars = 0;
  for await (const { line, atMs, place } of instanceLines(context, one, { after, follow: false, gone })) {
    if (line?.isOpen === true && !one.is_gone) return;
    part.isFull = part.lines.length >= bounds.lines || chars >= bounds.chars;
    if (part.isFull) return;
    part.place = place;
    if (line === undefined || !isWanted(line, { kernel: false })) continue;
    part.lines.push({ ...labelsOf(job, one), atMs, level: levelOf(line.line), line: line.line });
    chars += line.line.length;
  }
  part.isRead = true;
}

/** Undefined: as it was. */
function cursorOf(
  { machine_id, is_gone }: LoggedInstance,
  before: LogCursorRow | undefined,
  { place, isRead }: Part,
): LogCursorRow | undefined {
  const isDone = is_gone && isRead;
  if (place === before?.place && !isDone) return undefined;
  return place === undefined && !isDone ? undefined : { machine_id, place: place ?? "0", is_done: isDone };
}

/** Place in the log of an instance older than the receiver of its app: earlier lines are not sent. */
function firstPlace(
  { created_at: since }: ForwardJob,
  { created_at: began }: LoggedInstance,
): string | undefined {
  return began < since ? formatPlace({ atMs: since.getTime(), count: 0 }) : undefined;
}

function labelsOf(
  { app_id: id, app_name: name }: ForwardJob,
  one: LoggedInstance,
): Omit<ForwardedLine, "atMs" | "level" | "line"> {
  const { group_name: group, machine_id: machine, release } = one;
  return { app: { id, name }, group, instance: nameOf(one), machine, release };
}
