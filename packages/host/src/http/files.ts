// Reads and writes files of a guest. Bytes are streamed: this process never holds a whole file.

import type { IncomingMessage, ServerResponse } from "node:http";
import { readAttributes } from "@skerry/contract/vms/file-attributes";
import { SkerryError } from "@skerry/contract/errors";
import { PAYLOAD_MAX_BYTES } from "@skerry/contract/frames";
import { FileWriteHostQuery, PathQuery } from "@skerry/contract/host-api/vm";
import { firstPiece, startRead, startWrite, writtenBytes, type FileHead } from "../guest/agent.ts";
import type { GuestChannel } from "../guest/channel.ts";
import { statEntry } from "../guest/entries.ts";
import { patiently } from "../guest/patience.ts";
import { GuestRefusal, type GuestStream } from "../guest/stream.ts";
import type { Host } from "../app/host.ts";
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
      const { stream, head } = await startRead(channel, path);
      reply.raw.once("close", () => stream.cancel());
      // A file that can be opened need not be readable, such as /proc/1/mem; after the head only a broken
      // answer could say so.
      const first = await beginning(channel, stream, head);
      const sizeBytes = hasSize(head, first) ? head.sizeBytes : undefined;
      reply.hijack();
      reply.raw.writeHead(200, {
        "content-type": "application/octet-stream",
        ...(sizeBytes !== undefined && { "content-length": sizeBytes }),
      });
      await send(channel, stream, { first, sizeBytes, response: reply.raw });
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

/** The first piece, and of a small file all of it. */
async function beginning(
  channel: GuestChannel,
  stream: GuestStream,
  { sizeBytes }: FileHead,
): Promise<Buffer> {
  const first = (await firstPiece(channel, stream, STALL_DEADLINE_MS))?.bytes ?? Buffer.alloc(0);
  if (!isSmall(sizeBytes)) return first;
  const pieces = [first];
  for (let bytes = first.length; bytes < sizeBytes;) {
    const next = await patiently(channel, stream, patience, stream.read());
    if (next === undefined) break;
    pieces.push(next.bytes);
    bytes += next.bytes.length;
  }
  return Buffer.concat(pieces);
}

function isSmall(sizeBytes: number): boolean {
  return sizeBytes <= PAYLOAD_MAX_BYTES;
}

/**
 * A kernel's file says that it has nothing, or a page, and has something else: the size of a small file is
 * only told where it is right.
 */
function hasSize({ sizeBytes }: FileHead, first: Buffer): boolean {
  return !isSmall(sizeBytes) || sizeBytes === first.length;
}

/**
 * A file can grow or shrink while it is read. What it has grown by is left out where the size has been told.
 * A body that fails is cut off: it lacks bytes, or its last chunk.
 */
async function send(
  channel: GuestChannel,
  stream: GuestStream,
  {
    first,
    sizeBytes,
    response,
  }: {
    readonly first: Buffer;
    readonly sizeBytes: number | undefined;
    readonly response: ServerResponse;
  },
): Promise<void> {
  let leftBytes = sizeBytes ?? Infinity;
  try {
    for (let bytes: Buffer | undefined = first; bytes !== undefined;) {
      const piece = bytes.subarray(0, leftBytes);
      leftBytes -= piece.length;
      if (piece.length > 0 && !(await writeBodyPiece(response, piece))) return;
      if (piece.length < bytes.length) return void response.end();
      bytes = (await patiently(channel, stream, patience, stream.read()))?.bytes;
    }
    await stream.result();
    if (sizeBytes !== undefined && leftBytes > 0) throw new Error("the file has shrunk");
    response.end();
  } catch (error) {
    response.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}
