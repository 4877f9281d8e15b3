// Streams a command's output in the frames of the guest protocol. When the caller disconnects the command is
// killed.

import type { IncomingMessage, ServerResponse } from "node:http";
import { encodeFrame, encodeJson, frameTypes } from "@skerry/contract/frames";
import { COMMAND_WITH_INPUT, ExecuteCommand, FRAMES_CONTENT_TYPE } from "@skerry/contract/host-api/vm";
import { exitOf, startExecute } from "../guest/agent.ts";
import { withDeadline } from "../guest/patience.ts";
import type { GuestChannel } from "../guest/channel.ts";
import type { GuestStream } from "../guest/stream.ts";
import type { Host } from "../app/host.ts";
import { writeBodyPiece } from "./body.ts";
import { readFirstLine } from "./first-line.ts";
import { asSkerryError, VmParams, type HostServer } from "./conventions.ts";

/** Each answer carries one command. */
const STREAM = 1;

export function registerExecute(server: HostServer, { engine }: Host): void {
  // Only the command is parsed. Its input stays in the request, and is read as fast as the command reads it.
  server.addContentTypeParser(COMMAND_WITH_INPUT, async (_request: unknown, body: IncomingMessage) =>
    JSON.parse(await readFirstLine(body)),
  );
  server.post(
    "/vms/:id/execute",
    { schema: { params: VmParams, body: ExecuteCommand } },
    async (request, reply) => {
      const { execution_id, workdir, ...command } = request.body;
      const hasInput = request.headers["content-type"] === COMMAND_WITH_INPUT;
      using guest = await engine.use(request.params.id, execution_id);
      const { channel } = guest;
      const { stream, deadlineMs } = startExecute(channel, {
        ...command,
        ...(workdir === null ? {} : { workdir }),
        stdin: hasInput,
      });
      reply.hijack();
      reply.raw.once("close", () => stream.cancel());
      reply.raw.writeHead(200, { "content-type": FRAMES_CONTENT_TYPE });
      // Beside the output, which may have to be read before the command reads on.
      if (hasInput) void passInput(stream, request.raw);
      await relay(channel, stream, reply.raw, deadlineMs);
    },
  );
}

/** The rest of the body, then its end. Never rejects. What a command that has ended did not read is dropped: the next request follows it on this
 *  connection. A caller that breaks off has disconnected, which kills the command. */
async function passInput(stream: GuestStream, body: IncomingMessage): Promise<void> {
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      await stream.write(chunk as Buffer);
      if (stream.ended) break;
    }
  } catch {
    stream.cancel();
  }
  body.resume();
  stream.end();
}

/** The deadline counts only while we wait for the guest: a caller that reads slowly is not its fault. */
async function relay(
  channel: GuestChannel,
  stream: GuestStream,
  response: ServerResponse,
  deadlineMs: number,
): Promise<void> {
  let leftMs = deadlineMs;
  try {
    for (;;) {
      const askedMs = performance.now();
      const output = await withDeadline(channel, leftMs, stream.read());
      leftMs = Math.max(1, leftMs - (performance.now() - askedMs));
      if (output === undefined) break;
      const frame = encodeFrame(frameTypes[output.kind], STREAM, output.bytes);
      if (!(await writeBodyPiece(response, frame))) return;
    }
    response.end(encodeJson(frameTypes.close, STREAM, await exitOf(stream)));
  } catch (error) {
    response.end(encodeJson(frameTypes.reset, STREAM, asSkerryError(error as Error).toBody()));
  }
}
