// A command that runs on a host: its answer is a stream of frames, and leaving the stream kills the command.

import { Compile } from "typebox/compile";
import { errorFromBody, SkerryError } from "@skerry/contract/errors";
import { FrameError, FrameParser, frameTypes, parseJsonPayload, type Frame } from "@skerry/contract/frames";
import { ExecuteExit } from "@skerry/contract/vms/execute";

export type ExecutionEvent =
  | { readonly type: "stdout"; readonly data: Buffer }
  | { readonly type: "stderr"; readonly data: Buffer }
  | { readonly type: "exit"; readonly exit: ExecuteExit };

const exitShape = Compile(ExecuteExit);

/** The events of one command; the last one is `exit`. Throws what the host or the guest reports, and `guest_failed` for nonsense. */
export async function* executionEvents(
  body: AsyncIterable<Buffer>,
): AsyncGenerator<ExecutionEvent, void, undefined> {
  const parser = new FrameParser();
  try {
    for await (const chunk of body) {
      for (const frame of parser.push(chunk)) {
        const event = eventOf(frame);
        if (event !== undefined) yield event;
        if (event?.type === "exit") return;
      }
    }
  } catch (error) {
    if (error instanceof FrameError) throw broken(error);
    throw error;
  }
  throw broken();
}

function eventOf(frame: Frame): ExecutionEvent | undefined {
  if (frame.type === frameTypes.data) return { type: "stdout", data: frame.payload };
  if (frame.type === frameTypes.stderr) return { type: "stderr", data: frame.payload };
  if (frame.type === frameTypes.reset) {
    throw errorFromBody(parseJsonPayload(frame.payload), "The command failed for an unknown reason.");
  }
  if (frame.type !== frameTypes.close) return undefined;
  const exit = parseJsonPayload(frame.payload);
  if (!exitShape.Check(exit)) throw new FrameError("the exit of a command does not match its schema");
  return { type: "exit", exit };
}

function broken(cause?: unknown): SkerryError {
  return new SkerryError("guest_failed", "The connection to the microVM ended before the command did.", {
    cause,
  });
}
