// What a stream of events says of a command.

import type { ExecuteExit } from "@skerry/contract/vms/execute";
import { errorOfEvent } from "../../errors/errors.ts";
import type { ServerEvent } from "../../http/event-stream.ts";

/** A piece of output as it came, or the end of the command. `exit` is the last event, and comes exactly once. */
export type ExecuteEvent =
  | { readonly type: "stdout" | "stderr"; readonly data: Uint8Array<ArrayBuffer> }
  | ({ readonly type: "exit" } & ExecuteExit);

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
