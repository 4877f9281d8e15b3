// Files of the VMs of a fake host.

import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { IncomingMessage, ServerResponse } from "node:http";
import { SkerryError } from "@skerry/contract/errors";
import type { ChangeEntry } from "@skerry/contract/host-api/files";
import type { FileAttributes } from "@skerry/contract/vms/file-attributes";
import type { FileInfo } from "@skerry/contract/vms/files";
import { sendAll } from "./fake-commands.ts";
import type { FakeHostState, StoredFile } from "./fake-host-state.ts";
import { readBody, sendJson, type HostCall } from "./fake-http.ts";
import { FakeWatches } from "./fake-watches.ts";

const KEPT_BYTES = 1024 * 1024;

interface FileCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** The name of the one file in every directory. */
  readonly fileName: string;
}

const entry = { size: 1, type: "file", modified: "2026-01-01T00:00:00.000Z" } as const;

/** Watches of all fake hosts. */
export const watches = new FakeWatches();

/** A call into a VM that no other room takes. A change of an entry names the incarnation in its body. */
export async function serveFiles(host: FakeHostState, call: HostCall): Promise<void> {
  const { id, what, url } = call;
  host.require(id, what === "PATCH entry" ? undefined : url.searchParams.get("execution_id"));
  host.fail(what === "PUT file" ? "write" : "files");
  await serveFile(host.files, what, { ...call, fileName: host.fileName });
}

/** `method` and the last part of the path. A directory is a file of no bytes whose path ends with a slash. */
async function serveFile(
  files: Map<string, StoredFile>,
  method: string,
  { request, response, url, fileName }: FileCall,
): Promise<void> {
  const path = url.searchParams.get("path") ?? "";
  switch (method) {
    case "PUT file":
      return storeFile(files, path, { request, response, url });
    case "GET file":
      return sendFile(files, path, response);
    case "GET archive":
      return sendFile(new Map([[path, files.get(`${path}.tar`) ?? empty]]), path, response);
    case "GET watch":
      return watches.serve(path, response);
    case "PUT archive":
      return storeArchive(files, path, request, response);
    default:
      return serveEntries(files, method, { request, response, url, fileName });
  }
}

async function serveEntries(
  files: Map<string, StoredFile>,
  method: string,
  { request, response, url, fileName }: FileCall,
): Promise<void> {
  const asked = (name: string) => url.searchParams.get(name);
  const path = asked("path") ?? "";
  const mode = Number(asked("mode"));
  switch (method) {
    case "GET directory": {
      const depth = Number(asked("depth") ?? "1");
      const one = { ...entry, name: fileName };
      const entries = depth === 1 ? [one] : [one, { ...one, path: `${depth}/${fileName}` }];
      return sendJson(response, 200, { entries, truncated: asked("limit") === "1" });
    }
    case "PUT directory":
      files.set(`${path}/`, { size: 0, mode, sha256: "", content: Buffer.alloc(0) });
      return sendJson(response, 200, infoOf(files, path));
    case "GET entry":
      return sendJson(response, 200, infoOf(files, path));
    case "PATCH entry":
      return sendJson(response, 200, change(files, await readBody<ChangeEntry>(request)));
    case "DELETE entry":
      remove(files, path, asked("recursive") === "true");
      return void response.writeHead(204).end();
    default:
      throw new SkerryError("not_found", "no such call");
  }
}

const empty: StoredFile = { size: 0, sha256: "", mode: 0o644, content: Buffer.alloc(0) };

/** As a file beside the directory. */
async function storeArchive(
  files: Map<string, StoredFile>,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const content: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) content.push(chunk);
  const whole = Buffer.concat(content);
  files.set(`${path}.tar`, { ...empty, size: whole.length, content: whole });
  response.writeHead(204).end();
}

function infoOf(files: ReadonlyMap<string, StoredFile>, path: string): FileInfo {
  const directory = files.get(`${path}/`);
  const { size, mode, attributes } = directory ?? found(files, path);
  return {
    ...{ path, name: basename(path), size, modified: entry.modified, owner: "root", group: "root" },
    type: directory === undefined ? "file" : "directory",
    mode: mode.toString(8).padStart(4, "0"),
    ...(attributes !== undefined && { attributes }),
  };
}

function found(files: ReadonlyMap<string, StoredFile>, path: string): StoredFile {
  const file = files.get(path);
  if (file === undefined) throw new SkerryError("file_not_found", "There is no such file.");
  return file;
}

function change(files: Map<string, StoredFile>, { path, to = path, mode }: ChangeEntry): FileInfo {
  const file = found(files, path);
  if (files.has(`${to}/`)) throw new SkerryError("directory_not_empty", "It is not empty.");
  files.delete(path);
  files.set(to, { ...file, mode: mode ?? file.mode });
  return infoOf(files, to);
}

function remove(files: Map<string, StoredFile>, path: string, recursive: boolean): void {
  const isDirectory = files.delete(`${path}/`);
  if (!isDirectory) found(files, path);
  if (isDirectory && !recursive) throw new SkerryError("directory_not_empty", "It is not empty.");
  files.delete(path);
}

async function storeFile(
  files: Map<string, StoredFile>,
  path: string,
  { request, response, url }: Pick<FileCall, "request" | "response" | "url">,
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
  const attributes = url.searchParams.get("attributes");
  const there = files.get(path);
  files.set(path, {
    ...{
      size,
      mode: Number(url.searchParams.get("mode") ?? there?.mode ?? 0o644),
      sha256: hash.digest("hex"),
    },
    ...{ content: Buffer.concat(kept) },
    ...(attributes !== null && { attributes: JSON.parse(attributes) as FileAttributes }),
  });
  sendJson(response, 200, { path, size });
}

async function sendFile(
  files: ReadonlyMap<string, StoredFile>,
  path: string,
  response: ServerResponse,
): Promise<void> {
  const [, endless] = /^\/endless\/(\d+)$/.exec(path) ?? [];
  if (endless !== undefined) {
    response.writeHead(200, { "content-length": endless });
    return sendAll(response, Number(endless));
  }
  const file = found(files, path);
  response.writeHead(200, { "content-length": file.size }).end(file.content);
}
