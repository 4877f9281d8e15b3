// Reads and writes files of a guest. Bytes are streamed: this process never holds a whole file.

import type { IncomingMessage, ServerResponse } from "node:http";
import { readAttributes } from "@skerry/contract/vms/file-attributes";
import { SkerryError } from "@skerry/contract/errors";
import { FileWriteHostQuery, PathQuery } from "@skerry/contract/host-api/vm";
import { firstPiece, startRead, startWrite, writtenBytes } from "../guest/agent.ts";
import type { GuestChannel } from "../guest/channel.ts";
import { statEntry } from "../guest/entries.ts";
import { patiently } from "../guest/patience.ts";
import { GuestRefusal, type GuestStream, type Output } from "../guest/stream.ts";
import type { Host } from "../host.ts";
import { writeBodyPiece } from "./body.ts";
import { VmParams, type HostServer } from "./conventions.ts";
import { untilCut, useForTransfer, type Transfer } from "./transfers.ts";

/** A guest that moves no byte for this long is not waited for: its file system may hang. A slow client may take its time. */
const STALL_DEADLINE_MS = 60_000;
const patience = { deadlineMs: STALL_DEADLINE_MS };
const NEW_FILE_MODE = 0o644;

export function registerFiles(server: HostServer, { engine }: Host): void {
  server.put(
    "/vms/:id/file",
    { schema: { params: VmParams, querystring: FileWriteHostQuery } },
    async (request) => {
      const { execution_id, path, mode, attributes } = request.query;
      const kept = attributes === undefined ? undefined : readAttributes(attributes);
      using guest = await useForTransfer(engine, request.params.id, execution_id);
      const permissions = mode ?? (await modeThere(guest.channel, path)) ?? NEW_FILE_MODE;
      return {
        path,
        size: await receive(guest, startWrite(guest.channel, path, permissions, kept), request.raw),
      };
    },
  );

  server.get(
    "/vms/:id/file",
    { schema: { params: VmParams, querystring: PathQuery } },
    async (request, reply) => {
      const { execution_id, path } = request.query;
      using guest = await useForTransfer(engine, request.params.id, execution_id);
      const { channel } = guest;
      guest.cut.addEventListener("abort", () => reply.raw.destroy(), { once: true });
      const { stream } = await startRead(channel, path);
      reply.raw.once("close", () => stream.cancel());
      // A file that can be opened need not be readable, such as /proc/1/mem; after the head only a broken
      // answer could say so.
      const first = await firstPiece(channel, stream, STALL_DEADLINE_MS);
      reply.hijack();
      reply.raw.writeHead(200, { "content-type": "application/octet-stream" });
      await send(channel, stream, { first, response: reply.raw });
    },
  );
}

/** Permissions of the file that is replaced. The guest is asked in an operation of its own, which agents of
 *  every version have. Undefined where there is none; what is wrong with the path the write says. */
async function modeThere(channel: GuestChannel, path: string): Promise<number | undefined> {
  try {
    const { type, mode } = await statEntry(channel, path, true);
    return type === "file" ? Number.parseInt(mode, 8) : undefined;
  } catch (error) {
    if (error instanceof SkerryError && error.cause instanceof GuestRefusal) return undefined;
    throw error;
  }
}

/** Writes the body into the guest. A body that breaks off cancels, and then the guest keeps nothing of it. */
async function receive(
  { channel, cut }: Transfer,
  stream: GuestStream,
  body: IncomingMessage,
): Promise<number> {
  const pieces = body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  try {
    for await (const chunk of untilCut(pieces, cut)) {
      await patiently(channel, stream, { ...patience, gone: cut }, stream.write(chunk));
      cut.throwIfAborted();
      if (stream.ended) break; // refused: the result says why
    }
  } catch (error) {
    stream.cancel();
    cut.throwIfAborted();
    if (error instanceof SkerryError && error.code === "guest_timeout") throw error;
    throw new SkerryError("upload_incomplete", "The upload broke off; nothing was written.", {
      cause: error,
    });
  }
  // The remainder of a refused body is read and dropped, because the next request follows it on this
  // connection.
  body.resume();
  stream.end();
  return writtenBytes(channel, stream);
}

/** The size of a file can change while it is read, so the body is chunked, and one that fails is cut off
 *  without its last chunk. */
async function send(
  channel: GuestChannel,
  stream: GuestStream,
  { first, response }: { readonly first: Output | undefined; readonly response: ServerResponse },
): Promise<void> {
  try {
    for (let output = first; output !== undefined;) {
      if (!(await writeBodyPiece(response, output.bytes))) return;
      output = await patiently(channel, stream, patience, stream.read());
    }
    await stream.result();
    response.end();
  } catch (error) {
    response.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}
