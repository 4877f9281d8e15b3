import { SkerryError } from "@skerry/contract/errors";
import { UPLOAD_MAX_BYTES } from "@skerry/contract/limits";
import type { DirectoryListing, FileWritten } from "@skerry/contract/vms/files";
import type { FileBody } from "../../host-client/host-client.ts";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { readUrlPath } from "../../values/paths.ts";
import { callVm, runningVm, unlessMoved, vmError, type VmWish } from "../vm-kind.ts";

export interface FileWish extends VmWish {
  /** As in the URL, percent-encoded and without its first slash. */
  readonly encodedPath: string;
  /** The caller went away: the transfer ends. */
  readonly gone: AbortSignal;
}

const DEFAULT_MODE = 0o644;

/** The file appears whole or not at all. */
export async function uploadFile(
  context: Context,
  caller: Caller,
  wish: FileWish & {
    /** Octal digits. */
    readonly mode: string | undefined;
    /** Undefined where the sender does not know it before the end. */
    readonly sizeBytes: number | undefined;
    readonly content: AsyncIterable<Buffer>;
  },
): Promise<FileWritten> {
  const path = readUrlPath(wish.encodedPath);
  if (wish.sizeBytes !== undefined && wish.sizeBytes > UPLOAD_MAX_BYTES) throw tooLarge();
  const { row, client } = await runningVm(context, caller, wish);
  const upload = new BoundedUpload(wish.content);
  try {
    return await client.writeFile(
      row,
      {
        path,
        mode: wish.mode === undefined ? DEFAULT_MODE : Number.parseInt(wish.mode, 8),
        sizeBytes: wish.sizeBytes,
        content: upload,
      },
      wish.gone,
    );
  } catch (error) {
    if (upload.exceeded) throw tooLarge();
    throw vmError(context, wish.kind, await unlessMoved(context, caller, { row, wish, error }));
  }
}

export async function downloadFile(context: Context, caller: Caller, wish: FileWish): Promise<FileBody> {
  const path = readUrlPath(wish.encodedPath);
  return callVm(context, caller, wish, (row, client) => client.readFile(row, path, wish.gone)).catch(
    (error: unknown) => {
      throw vmError(context, wish.kind, error);
    },
  );
}

export async function listDirectory(
  context: Context,
  caller: Caller,
  wish: FileWish,
): Promise<DirectoryListing> {
  const path = readUrlPath(wish.encodedPath);
  return callVm(context, caller, wish, (row, client) => client.listDirectory(row, path, wish.gone)).catch(
    (error: unknown) => {
      throw vmError(context, wish.kind, error);
    },
  );
}

/** Passes chunks on until there are too many; then it throws, which breaks the call to the host off. */
class BoundedUpload implements AsyncIterable<Buffer> {
  exceeded = false;
  readonly #content: AsyncIterable<Buffer>;

  constructor(content: AsyncIterable<Buffer>) {
    this.#content = content;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of this.#content) {
      bytes += chunk.length;
      if (bytes > UPLOAD_MAX_BYTES) {
        this.exceeded = true;
        throw tooLarge();
      }
      yield chunk;
    }
  }
}

function tooLarge(): SkerryError {
  return new SkerryError(
    "payload_too_large",
    `The file is larger than ${UPLOAD_MAX_BYTES} bytes, the largest upload.`,
    {
      remediation: "Split the file, or have a command in the microVM fetch it.",
      context: { max_bytes: UPLOAD_MAX_BYTES },
    },
  );
}
