// Folders of a guest as tar archives, which its own tar writes and reads. What is in them is nothing to the host.

import { resultOf } from "./agent.ts";
import type { GuestChannel } from "./channel.ts";
import { patiently } from "./patience.ts";
import type { GuestStream } from "./stream.ts";

/** A file system of the guest's may take its time; one that moves no byte for so long is not waited for. */
const STALL_DEADLINE_MS = 60_000;

/** The archive in pieces. Resolves when the first one is there, or throws why there is none. It is canceled where `gone` aborts, or the reader
 *  leaves the pieces. */
export async function packDirectory(
  channel: GuestChannel,
  path: string,
  gone: AbortSignal,
): Promise<AsyncGenerator<Buffer, void>> {
  const stream = channel.open({ op: "pack", path });
  const patience = { deadlineMs: STALL_DEADLINE_MS, gone };
  const next = async () => (await patiently(channel, stream, patience, stream.read()))?.bytes;
  const first = await next();
  if (first === undefined) await resultOf(stream);
  return piecesOf(stream, first, next);
}

async function* piecesOf(
  stream: GuestStream,
  first: Buffer | undefined,
  next: () => Promise<Buffer | undefined>,
): AsyncGenerator<Buffer, void> {
  try {
    for (let piece = first; piece !== undefined; piece = await next()) yield piece;
    await resultOf(stream);
  } finally {
    stream.cancel();
  }
}

/** Takes the archive as fast as the guest unpacks it. Where the sender breaks off, or `cut` aborts, with which it throws then, what was unpacked
 *  stays. */
export async function unpackArchive(
  channel: GuestChannel,
  path: string,
  content: AsyncIterable<Buffer>,
  cut?: AbortSignal,
): Promise<void> {
  const stream = channel.open({ op: "unpack", path });
  const patience = { deadlineMs: STALL_DEADLINE_MS, gone: cut };
  try {
    for await (const piece of content) {
      await patiently(channel, stream, patience, stream.write(piece));
      if (stream.ended) break; // refused: the result says why
    }
    stream.end();
    await patiently(channel, stream, patience, resultOf(stream));
  } catch (error) {
    stream.cancel();
    throw cut?.aborted === true ? cut.reason : error;
  }
}
