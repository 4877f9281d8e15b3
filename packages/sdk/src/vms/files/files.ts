// Files in a microVM. Streams go through as they come; nothing here holds a file, except where the caller asks for one.

import type { FileWritten } from "@skerry/contract/vms/files";
import { SkerryInputError, SkerryTooLargeError } from "../../errors/errors.ts";
import { collect, type CallOptions, type HttpClient } from "../../http/http.ts";
import type { HttpRequest } from "../../http/http-request.ts";
import { filePath } from "../../http/paths.ts";

/** A file's content. In browsers a stream needs HTTP/2; a `Blob` (such as a `File`) streams everywhere. */
export type UploadContent = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>;

export interface UploadOptions extends CallOptions {
  /** Permissions in octal, for example `0755`. Default: those of the file that is there, or `0644`. */
  readonly mode?: string | undefined;
  /** Extended attributes of the file (`user.NAME` in the VM), by their names without the prefix; at most 4 KiB together. */
  readonly attributes?: Readonly<Record<string, string>> | undefined;
  /** Told how many bytes more are on their way. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/** What `download` holds in memory unless it is told otherwise, in bytes: a file can be larger than any memory and take no room in its VM. */
const DOWNLOAD_MAX_BYTES = 256 * 1024 * 1024;

export interface DownloadOptions extends CallOptions {
  /** A larger file is a `SkerryTooLargeError`. Default: 256 MiB; `Infinity`: as much as there is. */
  readonly maxBytes?: number | undefined;
}

/** Which file: the path of the microVM in the API, and the absolute path in it. */
export interface FileAddress {
  readonly vm: string;
  readonly path: string;
}

export async function uploadFile(
  http: HttpClient,
  file: FileAddress,
  content: UploadContent,
  { mode, attributes, onProgress, signal }: UploadOptions,
): Promise<FileWritten> {
  checkContent(content);
  checkMode(mode);
  return http.json<FileWritten>(
    {
      method: "PUT",
      path: filePath(file.vm, file.path),
      query: { mode, attributes: attributes === undefined ? undefined : JSON.stringify(attributes) },
      headers: {
        "content-type": "application/octet-stream",
        // A stream of known length: the server then refuses a file that is too long at once.
        ...(onProgress !== undefined && content instanceof Blob
          ? { "content-length": `${content.size}` }
          : {}),
      },
      body: onProgress === undefined ? bodyOf(content) : counted(content, onProgress),
      // The answer comes after the last byte, and only the caller knows how many there are.
      answerWithinMs: Infinity,
    },
    { signal },
  );
}

/**
 * Not every caller has its types checked, and `fetch` sends the text "[object Object]" for what it does not know. By what it can do, because
 * test runners give their tests classes of their own.
 */
function checkContent(content: unknown): void {
  if (typeof content === "string" || content instanceof ArrayBuffer || ArrayBuffer.isView(content)) return;
  const can = (content ?? {}) as Readonly<Record<string | symbol, unknown>>;
  if (["stream", "getReader", Symbol.asyncIterator].some((name) => typeof can[name] === "function")) return;
  throw new SkerryInputError(
    `The content of a file cannot be of the type ${content === null ? "null" : typeof content}.`,
    "Give a string, a Uint8Array, a Blob or a ReadableStream; an object as `JSON.stringify(object)`.",
  );
}

/** A number is as often meant in octal as not. */
export function checkMode(mode: string | number | undefined): void {
  if (mode === undefined || (typeof mode === "string" && /^0?[0-7]{3,4}$/.test(mode))) return;
  throw new SkerryInputError(
    `The mode "${mode}" is not the permissions of a file.`,
    'Give them in octal as text, such as "0755".',
  );
}

/** The body of a request, whose answer comes after its last byte. */
export function bytesToSend(content: UploadContent) {
  checkContent(content);
  return {
    headers: { "content-type": "application/octet-stream" },
    body: bodyOf(content),
    answerWithinMs: Infinity,
  };
}

function bodyOf(content: UploadContent): Exclude<UploadContent, Uint8Array> | Uint8Array<ArrayBuffer> {
  return content instanceof Uint8Array ? inPieces(content) : content;
}

function counted(content: UploadContent, onProgress: (bytes: number) => void): ReadableStream<Uint8Array> {
  const stream = content instanceof ReadableStream ? content : new Blob([content]).stream();
  return stream.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        onProgress(chunk.length);
        controller.enqueue(chunk);
      },
    }),
  );
}

const PIECE_BYTES = 1024 * 1024;

/** Node's `fetch` copies an array twice before it sends the first byte. A `Blob` is copied once, and small pieces into memory that is at hand. */
function inPieces(bytes: Uint8Array<ArrayBuffer>): Blob | Uint8Array<ArrayBuffer> {
  if (bytes.length <= PIECE_BYTES) return bytes;
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) pieces.push(bytes.subarray(at, at + PIECE_BYTES));
  return new Blob(pieces);
}

export async function downloadBytes(
  http: HttpClient,
  file: FileAddress,
  { maxBytes = DOWNLOAD_MAX_BYTES, signal }: DownloadOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  if (!(maxBytes >= 0))
    throw new SkerryInputError(
      "`maxBytes` is not a number of bytes.",
      "Give a number, or `Infinity` for as much as there is.",
    );
  return collect(atMost(await openBytes(http, filePath(file.vm, file.path), { signal }), maxBytes));
}

/** Leaving the loop over the chunks closes the connection. */
async function* atMost(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new SkerryTooLargeError(maxBytes);
    yield chunk;
  }
}

export async function downloadAsStream(
  http: HttpClient,
  file: FileAddress,
  options: CallOptions,
): Promise<ReadableStream<Uint8Array>> {
  return streamOf(http, filePath(file.vm, file.path), options);
}

/** The bytes at this path of the API. */
export async function streamOf(
  http: HttpClient,
  path: string,
  { signal }: CallOptions,
  query: NonNullable<HttpRequest["query"]> = {},
): Promise<ReadableStream<Uint8Array>> {
  signal?.throwIfAborted();
  // A stream may be canceled while it waits for a chunk; only a signal of its own ends that wait.
  const own = new AbortController();
  const onAbort = () => own.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  const letGo = () => signal?.removeEventListener("abort", onAbort);
  const chunks = await openBytes(http, path, { signal: own.signal }, query).catch((error: unknown) => {
    letGo();
    throw error;
  });
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          if (value instanceof Uint8Array) controller.enqueue(value);
          if (done !== true) return;
          controller.close();
          letGo();
        } catch (error) {
          letGo();
          throw error;
        }
      },
      async cancel(reason) {
        letGo();
        own.abort(reason);
        // Its failure is the abort that was asked for.
        await chunks.return().catch(() => undefined);
      },
    },
    // Nothing is read before it is asked for.
    { highWaterMark: 0 },
  );
}

function openBytes(
  http: HttpClient,
  path: string,
  options: CallOptions,
  query: NonNullable<HttpRequest["query"]> = {},
) {
  return http.open({ method: "GET", path, query, headers: { accept: "application/octet-stream" } }, options);
}
