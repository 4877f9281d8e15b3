// Commands in a microVM. Both forms read the stream of events: it keeps a quiet command's connection alive, and it
// carries the exact bytes.

import { OUTPUT_MAX_BYTES, STDIN_MAX_BYTES } from "@skerry/contract/bounds";
import type { ExecuteExit, ExecuteRequest, ExecuteResponse } from "@skerry/contract/vms/execute";
import { errorOfEvent, errorOfStream, SkerryConnectionError, SkerryInputError } from "./errors.ts";
import { readEvents, type ServerEvent } from "./event-stream.ts";
import { concat, type HttpClient, type TimedOptions } from "./http.ts";

/** `timeout` (default `30s`, at most `5m`), `workdir` (default `/root`), `env`, and `signal`, which kills the command. */
export type ExecuteOptions = Omit<ExecuteRequest, "command" | "stdin" | "stdin_encoding"> &
  TimedOptions & {
    /** What the command reads from its standard input, at most 10 MiB, and then its end. Default: nothing. */
    readonly stdin?: string | Uint8Array | undefined;
  };

/** A piece of output as it came, or the end of the command. `exit` is the last event, and comes exactly once. */
export type ExecuteEvent =
  | { readonly type: "stdout" | "stderr"; readonly data: Uint8Array<ArrayBuffer> }
  | ({ readonly type: "exit" } & ExecuteExit);

/** The command that `executeStream` runs in the microVM at this path of the API. */
export async function* streamCommand(
  http: HttpClient,
  vm: string,
  command: string,
  { signal, onTiming, stdin, ...rest }: ExecuteOptions,
): AsyncGenerator<ExecuteEvent, void> {
  const chunks = await http.open(
    {
      method: "POST",
      path: `${vm}/execute`,
      headers: { accept: "text/event-stream" },
      json: { command, ...rest, ...inputFields(stdin) },
    },
    { signal, onTiming },
  );
  let exited = false;
  try {
    // Read to the end, past `exit`, so that the connection can serve the next call.
    for await (const event of readEvents(chunks)) {
      const read: ExecuteEvent | undefined = exited ? undefined : readExecuteEvent(event);
      if (read === undefined) continue;
      exited = read.type === "exit";
      yield read;
    }
  } catch (error) {
    throw errorOfStream(error, http.baseUrl);
  }
  if (!exited)
    throw new SkerryConnectionError(
      http.baseUrl,
      `The connection to ${http.baseUrl} ended before the command did.`,
    );
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
  command: string,
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

/** Undefined for events that a newer server may add. */
export function readExecuteEvent({ event, data }: ServerEvent): ExecuteEvent | undefined {
  switch (event) {
    case "stdout":
    case "stderr":
      return { type: event, data: fromBase64((JSON.parse(data) as { data: string }).data) };
    case "exit":
      return { type: "exit", ...(JSON.parse(data) as ExecuteExit) };
    case "error":
      throw errorOfEvent(JSON.parse(data)) ?? new TypeError("an error without a code");
    default:
      return undefined;
  }
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  if (typeof text !== "string") throw new TypeError("output without data");
  const native = Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
  if (native.fromBase64 !== undefined) return native.fromBase64(text);
  const binary = decodeBase64(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

function decodeBase64(text: string): string {
  try {
    return atob(text);
  } catch (cause) {
    throw new TypeError("output that is not base64", { cause });
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
