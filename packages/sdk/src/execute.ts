// Commands in a microVM. Both forms read the stream of events: it keeps a quiet command's connection alive, and it
// carries the exact bytes.

import { OUTPUT_MAX_BYTES, STDIN_MAX_BYTES } from "@skerry/contract/bounds";
import { parseDuration } from "@skerry/contract/durations";
import type { ExecuteExit, ExecuteRequest, ExecuteResponse } from "@skerry/contract/vms/execute";
import type { Execution } from "@skerry/contract/vms/execution";
import { commandLine, type Command } from "./command-line.ts";
import { errorOfStream, SkerryConnectionError, SkerryInputError } from "./errors.ts";
import { readEvents } from "./event-stream.ts";
import { readExecuteEvent, type ExecuteEvent } from "./execute-events.ts";
import { Executions, isPassing, type FollowEvent } from "./executions.ts";
import { concat, type HttpClient, type TimedOptions } from "./http.ts";

/**
 * `timeout` (default `30s`, at most `5m`), `workdir` (default `/root`), `env`, and `signal`, which kills the command. With `reattach`, such as
 * `30s`, a connection that breaks is made again within that time, and no byte is lost or comes twice, unless the command has `stdin`.
 */
export type ExecuteOptions = Omit<ExecuteRequest, "command" | "stdin" | "stdin_encoding"> &
  TimedOptions & {
    /** What the command reads from its standard input, at most 10 MiB, and then its end. Default: nothing. */
    readonly stdin?: string | Uint8Array | undefined;
  };

/** The command that `executeStream` runs in the microVM at this path of the API. */
export async function* streamCommand(
  http: HttpClient,
  vm: string,
  command: Command,
  options: ExecuteOptions,
): AsyncGenerator<ExecuteEvent, void> {
  const { signal, onTiming, stdin, ...rest } = options;
  const call = {
    method: "POST",
    path: `${vm}/execute`,
    headers: { accept: "text/event-stream" },
    json: { command: commandLine(command), ...rest, ...inputFields(stdin) },
  } as const;
  const reached: Reached = { execution: undefined, position: 0, exited: false };
  try {
    yield* firstConnection(http, await http.open(call, { signal, onTiming }), reached);
    return;
  } catch (error) {
    if (!mayGoOn(options, reached) || !isPassing(error)) throw error;
  }
  const { execution = "", position } = reached;
  const follow = {
    after: position,
    hold: true,
    reconnectMs: parseDuration(rest.reattach ?? "") ?? 0,
    signal,
  };
  yield* goOn(http, new Executions(http, vm).follow(execution, follow));
}

/** How far a stream has come. */
interface Reached {
  execution: string | undefined;
  position: number;
  exited: boolean;
}

async function* firstConnection(
  { baseUrl }: HttpClient,
  chunks: AsyncGenerator<Uint8Array, void>,
  reached: Reached,
): AsyncGenerator<ExecuteEvent, void> {
  try {
    // Read to the end, past `exit`, so that the connection can serve the next call.
    for await (const event of readEvents(chunks)) {
      if (event.event === "start") reached.execution = (JSON.parse(event.data) as Partial<Execution>).id;
      const read = reached.exited ? undefined : readExecuteEvent(event);
      if (read === undefined) continue;
      reached.exited = read.type === "exit";
      reached.position = Number(event.id);
      yield read;
    }
  } catch (error) {
    throw errorOfStream(error, baseUrl);
  }
  if (!reached.exited)
    throw new SkerryConnectionError(baseUrl, `The connection to ${baseUrl} ended before the command did.`);
}

/** A server that has lost its client sends the command no more of its input, for the rest of which it would wait. */
function mayGoOn({ reattach, stdin }: ExecuteOptions, { execution, position, exited }: Reached): boolean {
  const hasInput = stdin !== undefined && stdin.length > 0;
  return (
    reattach !== undefined &&
    !hasInput &&
    execution !== undefined &&
    Number.isSafeInteger(position) &&
    !exited
  );
}

/** From where the first connection has ended. A server keeps for a client that comes back what it has not got. */
async function* goOn(
  { baseUrl }: HttpClient,
  events: AsyncGenerator<FollowEvent, void>,
): AsyncGenerator<ExecuteEvent, void> {
  for await (const { position: _, ...event } of events) {
    if (event.type === "dropped")
      throw new SkerryConnectionError(
        baseUrl,
        `${event.to - event.from} bytes of output were dropped while there was no connection to ${baseUrl}.`,
      );
    yield event;
  }
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
