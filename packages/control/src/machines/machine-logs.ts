// The console log of a machine, as lines. A guest writes what it likes to its console, also gigabytes without an end of line.

import { setTimeout as sleep } from "node:timers/promises";
import { StringDecoder } from "node:string_decoder";
import { SkerryError } from "@skerry/contract/errors";
import { CONSOLE_LINES_MAX } from "@skerry/contract/bounds";
import type { MachineLogs } from "@skerry/contract/machines/machine";
import { machineById, type MachineRow } from "./machine-store.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import { getMachine } from "./machines.ts";
import { clientOf } from "../vms/vm-kind.ts";

export interface LogParams {
  readonly id: string;
  readonly lines: number;
  /** Only lines that contain it. A plain text: a pattern of the caller could cost any amount of CPU time. */
  readonly grep?: string | undefined;
  /** The caller went away, or may not go on. */
  readonly gone: AbortSignal;
}

/** A longer line is cut into several. */
const LINE_MAX_CHARS = 16 * 1024;
/** All that is read for one answer; a host keeps about half of it. */
const ANSWER_MAX_CHARS = 16 * 1024 * 1024;
/** Between the end of a log and the look whether it goes on elsewhere: its machine may have moved to another host. */
const AGAIN_MS = 1_000;

export async function readMachineLogs(
  context: Context,
  caller: Caller,
  params: LogParams,
): Promise<MachineLogs> {
  const row = await machineWithLog(context, caller, params.id);
  if (params.lines === 0) return { lines: [] };
  const lines: string[] = [];
  let chars = 0;
  for await (const line of linesOf(await open(context, row, { ...params, follow: false }))) {
    if (contains(line, params.grep)) lines.push(line);
    if (lines.length > params.lines) lines.shift();
    // An end of line counts too: a host may send nothing else.
    chars += line.length + 1;
    if (chars > ANSWER_MAX_CHARS) break;
  }
  return { lines };
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
  first: AsyncIterable<Buffer>,
  { gone, grep }: LogParams,
): AsyncGenerator<string> {
  let log = first;
  for (let hostId = row.host_id; ;) {
    for await (const line of linesOf(log)) if (contains(line, grep)) yield line;
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

function contains(line: string, grep: string | undefined): boolean {
  return grep === undefined || line.includes(grep);
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
  { lines, follow, gone }: Omit<LogParams, "id"> & { readonly follow: boolean },
): Promise<AsyncIterable<Buffer>> {
  const client = await clientOf(context, row);
  const body = await client.console(row.id, { lines, follow }, gone).catch((error: unknown) => {
    // A machine that is on its way to its first host, or to another one, has no log there yet.
    if (error instanceof SkerryError && error.code === "vm_not_found") return [];
    throw error;
  });
  return guarded(body as AsyncIterable<Buffer>, gone);
}

/** A log that breaks off has ended; a caller that may not go on gets the reason. */
async function* guarded(body: AsyncIterable<Buffer>, gone: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    gone.throwIfAborted();
    throw new SkerryError("host_unavailable", "The connection to the host of the machine was lost.", {
      remediation: "Try again in a few seconds.",
      retryAfterS: 5,
      cause: error,
    });
  }
}

/** Bytes that are not UTF-8 become U+FFFD. */
export async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of bytes) {
    rest += decoder.write(chunk);
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield* cut(line.endsWith("\r") ? line.slice(0, -1) : line);
    while (rest.length > LINE_MAX_CHARS) {
      yield rest.slice(0, LINE_MAX_CHARS);
      rest = rest.slice(LINE_MAX_CHARS);
    }
  }
  rest += decoder.end();
  if (rest !== "") yield* cut(rest);
}

function* cut(line: string): Generator<string> {
  let rest = line;
  for (; rest.length > LINE_MAX_CHARS; rest = rest.slice(LINE_MAX_CHARS)) yield rest.slice(0, LINE_MAX_CHARS);
  yield rest;
}
