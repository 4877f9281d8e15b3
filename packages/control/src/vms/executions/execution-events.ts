// What a reader of an execution is sent: server-sent events, each with the position that it has reached as its number.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { OutputEvent } from "../../host-client/execution-calls.ts";
import { toSkerryError } from "../../http/errors.ts";
import { EventStream } from "../../http/event-stream.ts";
import { shown } from "./executions.ts";

export async function sendExecutionEvents(
  events: AsyncGenerator<OutputEvent>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  let position: number | undefined;
  await using stream = new EventStream(reply, () => ({ event: "keepalive", id: position, data: {} }));
  try {
    for await (const event of events) {
      position = event.position;
      switch (event.kind) {
        case "start":
          await stream.send("start", shown(event.state), position);
          break;
        case "exit":
          await stream.send("exit", event.state.exit, position);
          break;
        case "dropped":
          await stream.send("dropped", { from: event.from, to: position }, position);
          break;
        case "stdout":
        case "stderr":
          await stream.send(event.kind, { data: event.bytes.toString("base64") }, position);
      }
    }
  } catch (error) {
    const known = toSkerryError(error);
    if (known.code === "internal")
      request.log.error({ err: error }, "a stream of events failed unexpectedly");
    await stream.send("error", known.toBody(request.id));
  }
}
