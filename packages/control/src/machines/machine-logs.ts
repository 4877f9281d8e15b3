// The console log of a machine, as lines.

import { setTimeout as sleep } from "node:timers/promises";
import { SkerryError } from "@skerry/contract/errors";
import { CONSOLE_LINES_MAX } from "@skerry/contract/bounds";
import type { TimedPiece } from "@skerry/contract/host-api/timed-console";
import type { MachineLogs } from "@skerry/contract/machines/machine-logs";
import { isWanted, linesOf, timedText, type LineFilter, type LogLine } from "./log-lines.ts";
import { machineById, type MachineRow } from "./machine-store.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { getMachine } from "./machines.ts";
import { clientOf } from "../vms/vm-kind.ts";
import { NewestRedactor, redactorOfVm } from "../vms/vm-redactor.ts";

export interface LogParams extends LineFilter {
  readonly id: string;
  readonly lines: number;
  /** Whether each line begins with its time. */
  readonly timestamps: boolean;
  /** The caller went away, or may not go on. */
  readonly gone: AbortSignal;
}

/** All that is read for one answer; a host keeps about half of it. */
const ANSWER_MAX_CHARS = 16 * 1024 * 1024;
/** Between the end of a log and the look whether it goes on elsewhere: its machine may have moved to another host. */
const AGAIN_MS = 1_000;
/** Deadline of a log that no caller waits for. */
const HOST_ANSWERS_WITHIN_MS = 5_000;

export async function readMachineLogs(
  context: Context,
  caller: Caller,
  params: LogParams,
): Promise<MachineLogs> {
  const row = await machineWithLog(context, caller, params.id);
  if (params.lines === 0) return { lines: [] };
  const lines: string[] = [];
  let chars = 0;
  const pieces = await open(context, row, { ...params, follow: false });
  const redactor = await redactorOfVm(context, row);
  for await (const line of linesOf(pieces, async () => redactor)) {
    if (isWanted(line, params)) lines.push(shown(line, params));
    if (lines.length > params.lines) lines.shift();
    // An end of line counts too: a host may send nothing else.
    chars += line.line.length + 1;
    if (chars > ANSWER_MAX_CHARS) break;
  }
  return { lines };
}

/** The last lines of a machine's log, as soon as its host has them. */
export async function lastLogLines(
  context: Context,
  caller: Caller,
  { id, lines }: Pick<LogParams, "id" | "lines">,
): Promise<readonly string[]> {
  const gone = AbortSignal.timeout(HOST_ANSWERS_WITHIN_MS);
  return (
    await readMachineLogs(context, caller, {
      ...{ id, lines, gone },
      ...{ timestamps: false, kernel: false },
    })
  ).lines;
}

/** The last lines and then every one that comes. Ends when the machine is destroyed; throws the reason of `gone`. */
export async function followMachineLogs(
  context: Context,
  caller: Caller,
  params: LogParams,
): Promise<AsyncGenerator<string>> {
  const row = await machineWithLog(context, caller, params.id);
  return following(context, row, await open(context, row, { ...params, follow: true }), params);
}

async function* following(
  context: Context,
  row: MachineRow,
  first: AsyncIterable<TimedPiece>,
  params: LogParams,
): AsyncGenerator<string> {
  const { gone } = params;
  let log = first;
  const redactor = new NewestRedactor(context, row);
  const redactorNow = () => redactor.now();
  for (let hostId = row.host_id; ;) {
    for await (const line of linesOf(log, redactorNow)) if (isWanted(line, params)) yield shown(line, params);
    gone.throwIfAborted();
    await sleep(AGAIN_MS, undefined, { signal: gone }).catch(() => gone.throwIfAborted());
    const now = await machineById(context.db, row.id);
    if (now === undefined || now.status === "destroying" || now.status === "destroyed") return;
    // On another host nothing of the log has been read yet.
    const lines = now.host_id === hostId ? 0 : CONSOLE_LINES_MAX;
    hostId = now.host_id;
    log = await open(context, now, { lines, gone, follow: true });
  }
}

function shown(line: LogLine, { timestamps }: Pick<LogParams, "timestamps">): string {
  return timestamps ? timedText(line) : line.line;
}

async function machineWithLog(context: Context, caller: Caller, id: string): Promise<MachineRow> {
  const row = await getMachine(context, caller, id);
  if (row.status !== "destroying" && row.status !== "destroyed") return row;
  throw new SkerryError("machine_destroyed", `The machine is ${row.status}, and its log is gone with it.`, {
    context: { status: row.status },
  });
}

async function open(
  context: Context,
  row: MachineRow,
  { lines, follow, gone }: Pick<LogParams, "lines" | "gone"> & { readonly follow: boolean },
): Promise<AsyncIterable<TimedPiece>> {
  const client = await clientOf(context, row);
  const pieces = await client.console(row.id, { lines, follow }, gone).catch((error: unknown) => {
    // A machine that is on its way to its first host, or to another one, has no log there yet.
    if (error instanceof SkerryError && error.code === "vm_not_found") return nothing();
    throw error;
  });
  return guarded(pieces, gone);
}

async function* nothing(): AsyncGenerator<TimedPiece> {}

/** A log that breaks off has ended; a caller that may not go on gets the reason. */
async function* guarded(pieces: AsyncIterable<TimedPiece>, gone: AbortSignal): AsyncGenerator<TimedPiece> {
  try {
    yield* pieces;
  } catch (error) {
    gone.throwIfAborted();
    throw new SkerryError("host_unavailable", "The connection to the host of the machine was lost.", {
      remediation: "Try again in a few seconds.",
      retryAfterS: 5,
      cause: error,
    });
  }
}
