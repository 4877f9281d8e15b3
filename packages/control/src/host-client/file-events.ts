// The events of a watch, as a host sends them.

import { Compile } from "typebox/compile";
import type { Dispatcher } from "undici";
import { errorFromBody, SkerryError } from "@skerry/contract/errors";
import { FrameError, FrameParser, frameTypes, parseJsonPayload } from "@skerry/contract/frames";
import { FileEvent } from "@skerry/contract/vms/watches";
import { hostErrorOfCall } from "./host-errors.ts";

const shape = Compile(FileEvent);
const start: FileEvent = { event: "start", path: "", type: "directory" };

/** The first one is `start`. Ends where the directory is gone; throws what the host or the guest reports, and `host_unavailable` where the answer ends
 *  before. */
export async function* fileEventsOf(
  { body }: Dispatcher.ResponseData,
  gone: AbortSignal,
): AsyncGenerator<FileEvent, void> {
  try {
    yield* events(body as AsyncIterable<Buffer>);
  } catch (error) {
    if (error instanceof FrameError)
      throw new SkerryError("internal", "The host sent an event that cannot be.", { cause: error });
    throw hostErrorOfCall(error, gone);
  }
}

async function* events(body: AsyncIterable<Buffer>): AsyncGenerator<FileEvent, void> {
  const parser = new FrameParser();
  for await (const chunk of body)
    for (const { type, payload } of parser.push(chunk)) {
      if (type === frameTypes.close) return;
      if (type === frameTypes.reset)
        throw errorFromBody(parseJsonPayload(payload), "The watch failed for an unknown reason.");
      if (type === frameTypes.head) yield start;
      else if (type === frameTypes.data) yield eventOf(payload);
      else if (type !== frameTypes.ping) throw new FrameError(`a frame of type ${type} in a watch`);
    }
  throw new SkerryError("host_unavailable", "The connection to the host ended before the watch did.");
}

function eventOf(payload: Buffer): FileEvent {
  const event = parseJsonPayload(payload);
  if (!shape.Check(event)) throw new FrameError("an event does not match its schema");
  return event;
}
