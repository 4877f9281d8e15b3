// What a host can ask of a guest, in TypeScript. Checks the shape of every answer and turns the guest's
// refusals into errors of the API.

import { SkerryError } from "@skerry/contract/errors";
import type {
  ConfigureOperation,
  ExecuteOperation,
  GuestOperation,
} from "@skerry/contract/guest-api/guest-operations";
import { FrameError } from "@skerry/contract/frames";
import type { MainExit } from "@skerry/contract/host-api/vm";
import type { ExecuteExit } from "@skerry/contract/vms/execute";
import { randomBytes } from "node:crypto";
import { signalName } from "../system/signals.ts";
import type { GuestChannel } from "./channel.ts";
import { JsonLines, ListFault, type LineBounds } from "./json-lines.ts";
import { integer, natural } from "./numbers.ts";
import { patiently, SHORT_DEADLINE_MS, withDeadline } from "./patience.ts";
import { errorOfRefusal } from "./refusals.ts";
import { GuestRefusal, type GuestStream, type Output } from "./stream.ts";

const ENTROPY_BYTES = 64;
/** On top of a command's own timeout: for killing it and telling us. */
const EXECUTE_GRACE_MS = 15_000;
/** Larger values come from no kernel, and the values are stored in a database. */
const EXIT_CODE_MAX = 255;
const SIGNAL_MAX = 64;

export interface FileHead {
  readonly sizeBytes: number;
}

/** A command under way. `deadlineMs` is when its silence makes the guest a dead one. */
export interface RunningCommand {
  readonly stream: GuestStream;
  readonly deadlineMs: number;
}

export function startExecute(channel: GuestChannel, operation: Omit<ExecuteOperation, "op">): RunningCommand {
  const stream = channel.open({ op: "execute", ...operation });
  return { stream, deadlineMs: operation.timeout_ms + EXECUTE_GRACE_MS };
}

/** Runs a warm-up command before the guest gets an identity; throws unless it succeeds. */
export async function runCommand(channel: GuestChannel, command: string, timeoutMs: number): Promise<void> {
  const operation = { command, env: {}, timeout_ms: timeoutMs, stdin: false, output_limit: 1 };
  const { stream, deadlineMs } = startExecute(channel, operation);
  const run = async (): Promise<number> => {
    while ((await stream.read()) !== undefined);
    return (await exitOf(stream)).exit_code;
  };
  const exitCode = await withDeadline(channel, deadlineMs, run());
  if (exitCode !== 0) throw new Error(`the warm-up command ended with ${exitCode}: ${command}`);
}

/** What a command prints, as far as the bound; however it ends. */
export async function outputOf(
  channel: GuestChannel,
  command: string,
  { timeoutMs, maxBytes }: { readonly timeoutMs: number; readonly maxBytes: number },
): Promise<string> {
  const operation = { command, env: {}, timeout_ms: timeoutMs, stdin: false, output_limit: maxBytes };
  const { stream, deadlineMs } = startExecute(channel, operation);
  const pieces: Buffer[] = [];
  let left = maxBytes;
  const read = async (): Promise<void> => {
    for (let piece = await stream.read(); piece !== undefined; piece = await stream.read()) {
      // A guest need not keep to the limit that it was told.
      if (piece.kind !== "data" || left === 0) continue;
      const kept = Buffer.from(piece.bytes.subarray(0, left));
      pieces.push(kept);
      left -= kept.length;
    }
    await exitOf(stream);
  };
  await withDeadline(channel, deadlineMs, read());
  return Buffer.concat(pieces).toString();
}

/** How a command ended. Throws SkerryError. */
export async function exitOf(stream: GuestStream): Promise<ExecuteExit> {
  const result = await resultOf(stream);
  const signal = integer(result["signal"]);
  return {
    exit_code: integer(result["exit_code"]),
    duration_ms: natural(result["duration_ms"]),
    timed_out: result["timed_out"] === true,
    signal: signal === 0 ? null : signalName(signal),
    oom_killed: result["oom_killed"] === true,
    truncated: result["truncated"] === true,
    usage: { cpu_ms: natural(result["cpu_ms"]), memory_peak_bytes: natural(result["memory_peak_bytes"]) },
  };
}

/** A machine's main process, which runs or has ended. */
export interface MainProcess {
  /** Rejects when the guest has gone before it told. */
  readonly exit: Promise<MainExit>;
}

/** Starts the main process, or finds the one that was started. */
export async function startMain(
  channel: GuestChannel,
  command: string,
  deadlineMs = SHORT_DEADLINE_MS,
): Promise<MainProcess> {
  const stream = channel.open({ op: "main", command, env: {} });
  const started = await withDeadline(channel, deadlineMs, stream.head());
  if (started === undefined) await resultOf(stream);
  const exit = resultOf(stream).then((result) => ({
    exit_code: Math.min(natural(result["exit_code"]), EXIT_CODE_MAX),
    signal: Math.min(natural(result["signal"]), SIGNAL_MAX),
    oom_killed: result["oom_killed"] === true,
  }));
  exit.catch(() => undefined); // each caller that awaits it gets the error
  return { exit };
}

/** Does not wait for its end. */
export async function terminateMain(channel: GuestChannel, signal: number): Promise<void> {
  const stream = channel.open({ op: "terminate", signal });
  await withDeadline(channel, SHORT_DEADLINE_MS, resultOf(stream));
}

/** Kills all that runs in the guest and writes its disk out. */
export async function shutDownGuest(channel: GuestChannel): Promise<void> {
  const stream = channel.open({ op: "shutdown" });
  await withDeadline(channel, SHORT_DEADLINE_MS, resultOf(stream));
}

/** Gives a fresh clone its identity; nothing of the user's may run before. */
export async function configure(
  channel: GuestChannel,
  operation: Omit<ConfigureOperation, "op">,
): Promise<void> {
  const stream = channel.open({ op: "configure", ...operation });
  await withDeadline(channel, SHORT_DEADLINE_MS, resultOf(stream));
}

/** Sets the clock of a resumed guest and mixes entropy into its generator. */
export async function wakeGuest(channel: GuestChannel, deadlineMs = SHORT_DEADLINE_MS): Promise<void> {
  const stream = channel.open({ op: "wake", ...clockAndEntropy() });
  await withDeadline(channel, deadlineMs, resultOf(stream));
}

/** What the guest's wall clock says, in microseconds since 1970, once it was moved by `adjustUs`. Without a deadline, as `isIdle`. */
export async function adjustClock(channel: GuestChannel, adjustUs: number): Promise<number> {
  return natural((await resultOf(channel.open({ op: "clock", adjust_us: adjustUs })))["clock_us"]);
}

/** The wall clock now, and fresh entropy. */
export function clockAndEntropy(): Pick<ConfigureOperation, "clock_us" | "entropy"> {
  return {
    // Not from \`performance\`, which goes on from when this process began and does not see that the machine's clock was set.
    clock_us: Date.now() * 1_000,
    entropy: randomBytes(ENTROPY_BYTES).toString("hex"),
  };
}

/** Whether no process but the agent is left in the guest. Without a deadline, because a busy guest may
 *  answer late. */
export async function isIdle(channel: GuestChannel): Promise<boolean> {
  return (await resultOf(channel.open({ op: "idle" })))["idle"] === true;
}

/** `attributes`: extended attributes of the file. An agent of an earlier version refuses them. */
export function startWrite(
  channel: GuestChannel,
  path: string,
  mode: number,
  attributes?: Readonly<Record<string, string>>,
): GuestStream {
  return channel.open({ op: "write", path, mode, ...(attributes !== undefined && { attributes }) });
}

/** Bytes written, as the guest counted them. Call it after the stream's `end()`. */
export async function writtenBytes(channel: GuestChannel, stream: GuestStream): Promise<number> {
  const patience = { deadlineMs: SHORT_DEADLINE_MS };
  return natural((await patiently(channel, stream, patience, resultOf(stream)))["size"]);
}

/** Opens a file for reading. Throws SkerryError where it is missing or no file. */
export async function startRead(
  channel: GuestChannel,
  path: string,
): Promise<{ stream: GuestStream; head: FileHead }> {
  const stream = channel.open({ op: "read", path });
  const head = await patiently(channel, stream, { deadlineMs: SHORT_DEADLINE_MS }, stream.head());
  if (head === undefined) {
    await resultOf(stream);
    throw new SkerryError("guest_failed", "The VM's agent ended a download before it began.");
  }
  return { stream, head: { sizeBytes: natural(head["size"]) } };
}

/** The first piece of a file; undefined where it is empty. Throws SkerryError where it could not be read. */
export async function firstPiece(
  channel: GuestChannel,
  stream: GuestStream,
  deadlineMs: number,
): Promise<Output | undefined> {
  const first = await patiently(channel, stream, { deadlineMs }, stream.read());
  if (first === undefined) await resultOf(stream);
  return first;
}

export interface GuestList<Entry> {
  readonly entries: Entry[];
  /** There are more than were asked for. */
  readonly truncated: boolean;
}

/** The lines that an operation answers. A guest that sends something else is dropped. */
export async function readList<Entry>(
  channel: GuestChannel,
  operation: GuestOperation,
  {
    bounds,
    entryOf,
  }: {
    readonly bounds: LineBounds;
    readonly entryOf: (line: Readonly<Record<string, unknown>>) => Entry;
  },
): Promise<GuestList<Entry>> {
  const stream = channel.open(operation);
  const lines = new JsonLines(bounds, entryOf);
  const read = async (): Promise<GuestList<Entry>> => {
    for (let part = await stream.read(); part !== undefined; part = await stream.read())
      lines.push(part.bytes);
    const result = await resultOf(stream);
    lines.end();
    return { entries: lines.entries, truncated: result["truncated"] === true };
  };
  try {
    return await patiently(channel, stream, { deadlineMs: SHORT_DEADLINE_MS }, read());
  } catch (error) {
    if (!(error instanceof ListFault || error instanceof FrameError)) throw error;
    channel.close("the guest's agent sent a list that is not one");
    throw new SkerryError("guest_failed", "The VM's agent sent a broken list.", { cause: error });
  }
}

/** A connection to this port of the guest. Throws `port_not_listening` where nothing accepts it. */
export async function connectPort(channel: GuestChannel, port: number): Promise<GuestStream> {
  const stream = channel.open({ op: "connect", port });
  const head = await withDeadline(channel, SHORT_DEADLINE_MS, stream.head());
  if (head !== undefined) return stream;
  await resultOf(stream);
  throw new SkerryError("guest_failed", "The VM's agent ended a connection before it began.");
}

/** The stream's JSON result, or the SkerryError that the guest's refusal means. */
export async function resultOf(stream: GuestStream): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await stream.result();
  } catch (error) {
    throw streamError(error);
  }
}

/** What the error that ended a stream means for the caller. */
export function streamError(error: unknown): Error {
  if (error instanceof GuestRefusal) return errorOfRefusal(error);
  return error instanceof Error ? error : new Error(String(error));
}
