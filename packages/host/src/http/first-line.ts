// Bodies that begin with a line of their own.

import type { IncomingMessage } from "node:http";
import { SkerryError } from "@skerry/contract/errors";

/** As long as any other body of JSON. */
const LINE_MAX_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/** The first line of a body, without its end. What follows it is read from the body as if the line had not been there. */
export async function readFirstLine(body: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    const end = chunk.indexOf(NEWLINE);
    parts.push(end < 0 ? chunk : chunk.subarray(0, end));
    bytes += parts.at(-1)?.length ?? 0;
    if (bytes > LINE_MAX_BYTES) break;
    if (end < 0) continue;
    if (end + 1 < chunk.length) body.unshift(chunk.subarray(end + 1));
    return Buffer.concat(parts).toString("utf8");
  }
  throw new SkerryError("bad_request", "The body does not begin with a line.");
}
