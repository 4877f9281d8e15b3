// Commands in a microVM. Both forms read the stream of events: it keeps a quiet command's connection alive, and it
// carries the exact bytes.

import { OUTPUT_MAX_BYTES, REATTACH_MAX_MS, STDIN_MAX_BYTES } from "@skerry/contract/bounds";
import { parseDuration } from "@skerry/contract/durations";
import type { ExecuteExit, ExecuteRequest, ExecuteResponse } from "@skerry/contract/vms/execute";
import { SkerryApiError } from "../../errors/api-errors.ts";
import type { Execution } from "@skerry/contract/vms/execution";
import { commandLine, type Command } from "./command-line.ts";
import { errorOfStream, SkerryConnectionError, SkerryInputError } from "../../errors/errors.ts";
import { readEvents } from "../../http/event-stream.ts";
import { readExecuteEvent, type ExecuteEvent } from "./execute-events.ts";
import { Executions, isPassing, type FollowOptions } from "./executions.ts";
import { concat, type HttpClient, type TimedOptions } from "../../http/http.ts";

/** How long a command lives without its client, and how long the client tries to come back. */
const REATTACH = `${REATTACH_MAX_MS / 1_000}s`;
/**
 * For the call that kills what its caller has left. Where it does not get through, the command ends when
 * `reattach` is over.
 */
const KILL_WITHIN_MS = 5_000;

/**
 * `timeout` (default `30s`, at most `24h`, `0s` for none), `workdir` (default `/root`), `env`, and `signal`,
 * which kills the command. A connection that breaks is made again within `reattach` (default `60s`), and no
 * byte is lost or comes twice; a command whose `stdin` was still on its way then is killed.
 */
export type ExecuteOptions = Omit<ExecuteRequest, "command" | "stdin" | "stdin_encoding"> &
  TimedOptions & {
    /** What the command reads from its standard input, at most 10 MiB, and then its end. Default: nothing. */
    readonly stdin?: string | Uint8Array | undefined;
    /** Told of the id of the command's execution when it runs. */
    readonly onExecution?: ((id: string) => void) | undefined;
  };

/** The command that `executeStream` runs in the microVM at this path of the API. */
export async function* streamCommand(
  http: HttpClient,
  vm: string,
  command: Command,
  options: ExecuteOptions,
): AsyncGenerator<ExecuteEvent, void> {
  const { signal, onTiming, onExecution, stdin, reattach = REATTACH, ...rest } = options;
  const input = inputFields(stdin);
  const call = {
    method: "POST",
    path: `${vm}/execute`,
    headers: { accept: "text/event-stream" },
    json: { command: commandLine(command), ...rest, reattach, ...input },
  } as const;
  const executions = new Executions(http, vm);
  const reached: Reached = { execution: undefined, position: 0, isOver: false, onExecution };
  try {
    const chunks = await http.open(call, { signal, onTiming });
    try {
      yield* firstConnection(http, chunks, reached);
    } catch (error) {
      if (!mayGoOn(reached) || !isPassing(error)) throw error;
      const follow = { after: reached.position, reconnectMs: parseDuration(reattach) ?? 0, signal };
      const hasInput = input.stdin !== undefined;
      yield* goOn(http, executions, { ...follow, reached, lost: hasInput ? error : undefined });
    }
  } catch (error) {
    // The server has ended it, or will.
    reached.isOver ||= error instanceof SkerryApiError;
    throw error;
  } finally {
    if (!reached.isOver && reached.execution !== undefined) await kill(executions, reached.execution);
  }
}

async function kill(executions: Executions, execution: string): Promise<void> {
  try {
    await executions.kill(execution, "KILL", { signal: AbortSignal.timeout(KILL_WITHIN_MS) });
  } catch {
    // It ends when `reattach` is over.
  }
}

/** How far a stream has come. */
interface Reached {
  execution: string | undefined;
  position: number;
  /** Its exit has come, or it is not ours to end. */
  isOver: boolean;
  readonly onExecution: ExecuteOptions["onExecution"];
}

async function* firstConnection(
  { baseUrl }: HttpClient,
  chunks: AsyncGenerator<Uint8Array, void>,
  reached: Reached,
): AsyncGenerator<ExecuteEvent, void> {
  try {
    // Read to the end, past `exit`, so that the connection can serve the next call.
    for await (const event of readEvents(chunks)) {
      if (event.event === "start") begin(reached, (JSON.parse(event.data) as Partial<Execution>).id);
      const read = reached.isOver ? undefined : readExecuteEvent(event);
      if (read === undefined) continue;
      reached.isOver = read.type === "exit";
      reached.position = Number(event.id);
      yield read;
    }
  } catch (error) {
    throw errorOfStream(error, baseUrl);
  }
  if (!reached.isOver)
    throw new SkerryConnectionError(baseUrl, `The connection to ${baseUrl} ended before the command did.`);
}

function begin(reached: Reached, execution: string | undefined): void {
  reached.execution = execution;
  if (execution !== undefined) reached.onExecution?.(execution);
}

function mayGoOn({ execution, position, isOver }: Reached): boolean {
  return execution !== undefined && Number.isSafeInteger(position) && !isOver;
}

interface GoOn extends FollowOptions {
  readonly reached: Reached;
  /**
   * How the first connection ended, of a command that has input: without that connection it gets no more of
   * it, and would wait for the rest.
   */
  readonly lost: unknown;
}

/** From where the first connection has ended. A server keeps for a client that comes back what it has not got. */
async function* goOn(
  { baseUrl }: HttpClient,
  executions: Executions,
  { reached, lost, ...follow }: GoOn,
): AsyncGenerator<ExecuteEvent, void> {
  const { execution = "" } = reached;
  if (lost !== undefined && (await stillReads(executions, execution, follow))) throw lost;
  for await (const { position, ...event } of executions.follow(execution, { ...follow, hold: true })) {
    if (event.type === "dropped")
      throw new SkerryConnectionError(
        baseUrl,
        `${event.to - event.from} bytes of output were dropped while there was no connection to ${baseUrl}.`,
      );
    reached.isOver = event.type === "exit";
    reached.position = position;
    yield event;
  }
}

async function stillReads(
  executions: Executions,
  execution: string,
  { reconnectMs = 0, signal }: FollowOptions,
): Promise<boolean> {
  return (await executions.reach(execution, { reconnectMs, signal })).stdin;
}

/** Also text goes as base64: as JSON it could be six times as long as its bytes. */
function inputFields(
  stdin: string | Uint8Array | undefined,
): Pick<ExecuteRequest, "stdin" | "stdin_encoding"> {
  if (stdin === undefined || stdin.length === 0) return {};
  if (typeof stdin === "string" && !stdin.isWellFormed())
    throw new SkerryInputError("The input is not valid Unicode.", "Give bytes as a Uint8Array.");
  const bytes = typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin;
  if (bytes.length > STDIN_MAX_BYTES)
    throw new SkerryInputError(
      `The input has ${bytes.length} bytes; a command takes at most ${STDIN_MAX_BYTES}.`,
      "Upload it as a file, and redirect it: command < file.",
    );
  return { stdin: toBase64(bytes), stdin_encoding: "base64" };
}

/** The command that `execute` runs. */
export async function collectCommand(
  http: HttpClient,
  vm: string,
  command: Command,
  options: ExecuteOptions,
): Promise<ExecuteResponse> {
  const output = { stdout: new Output(), stderr: new Output() };
  let exit: ExecuteExit | undefined;
  for await (const event of streamCommand(http, vm, command, options)) {
    if (event.type === "exit") {
      const { type: _, ...fields } = event;
      exit = fields;
    } else output[event.type].push(event.data);
  }
  // The stream throws where no exit came.
  return {
    ...(exit as ExecuteExit),
    truncated: (exit as ExecuteExit).truncated || output.stdout.truncated || output.stderr.truncated,
    stdout: output.stdout.text(),
    stderr: output.stderr.text(),
  };
}

/** Holds as much of one stream as the API's own answer would. */
class Output {
  readonly #parts: Uint8Array[] = [];
  #roomBytes = OUTPUT_MAX_BYTES;
  truncated = false;

  push(data: Uint8Array): void {
    if (data.length > this.#roomBytes) this.truncated = true;
    const kept = data.subarray(0, this.#roomBytes);
    this.#roomBytes -= kept.length;
    if (kept.length > 0) this.#parts.push(kept);
  }

  text(): string {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(concat(this.#parts));
  }
}

/** A multiple of three, so that no piece ends in padding. */
const ENCODED_BYTES = 24 * 1024;

function toBase64(bytes: Uint8Array): string {
  const native = bytes as { toBase64?: () => string };
  if (native.toBase64 !== undefined) return native.toBase64();
  let text = "";
  for (let at = 0; at < bytes.length; at += ENCODED_BYTES)
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + ENCODED_BYTES)));
  return text;
}
