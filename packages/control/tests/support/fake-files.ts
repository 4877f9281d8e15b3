// Files of the VMs of a fake host.

import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { SkerryError } from "@skerry/contract/errors";
import { sendAll } from "./fake-commands.ts";
import { sendJson } from "./fake-http.ts";

/** A file as a guest would have it: its bytes are not kept, only what a test wants to know of them. */
export interface StoredFile {
  readonly size: number;
  readonly sha256: string;
  readonly mode: number;
  /** Kept only where it is small. */
  readonly content: Buffer;
}

const KEPT_BYTES = 1024 * 1024;

export async function storeFile(
  files: Map<string, StoredFile>,
  path: string,
  { request, response, mode }: { request: IncomingMessage; response: ServerResponse; mode: number },
): Promise<void> {
  const hash = createHash("sha256");
  const kept: Buffer[] = [];
  let size = 0;
  // Throws where the sender breaks off, and then nothing is stored.
  for await (const chunk of request as AsyncIterable<Buffer>) {
    hash.update(chunk);
    size += chunk.length;
    if (size <= KEPT_BYTES) kept.push(chunk);
  }
  files.set(path, { size, mode, sha256: hash.digest("hex"), content: Buffer.concat(kept) });
  sendJson(response, 200, { path, size });
}

export async function sendFile(
  files: ReadonlyMap<string, StoredFile>,
  path: string,
  response: ServerResponse,
): Promise<void> {
  const [, endless] = /^\/endless\/(\d+)$/.exec(path) ?? [];
  if (endless !== undefined) {
    response.writeHead(200, { "content-length": endless });
    return sendAll(response, Number(endless));
  }
  const file = files.get(path);
  if (file === undefined) throw new SkerryError("file_not_found", "There is no such file.");
  response.writeHead(200, { "content-length": file.size }).end(file.content);
}
