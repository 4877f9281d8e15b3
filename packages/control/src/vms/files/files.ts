import { SkerryError } from "@skerry/contract/errors";
import { UPLOAD_MAX_BYTES } from "@skerry/contract/limits";
import type { DirectoryListing, FileWritten } from "@skerry/contract/vms/files";
import type { FileBody } from "../../host-client/host-client.ts";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { readUrlPath } from "../../values/paths.ts";
import { callVm, runningVm, unlessMoved, vmError, type VmRef } from "../vm-kind.ts";

export interface FileParams extends VmRef {
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
  params: FileParams & {
    /** Octal digits. */
    readonly mode: string | undefined;
    /** Undefined where the sender does not know it before the end. */
    readonly sizeBytes: number | undefined;
    readonly content: AsyncIterable<Buffer>;
  },
): Promise<FileWritten> {
  const path = readUrlPath(params.encodedPath);
  if (params.sizeBytes !== undefined && params.sizeBytes > UPLOAD_MAX_BYTES) throw tooLarge();
  const { row, client } = await runningVm(context, caller, params);
  const upload = new BoundedUpload(params.content);
  try {
    return await client.writeFile(
      row,
      {
        path,
        mode: params.mode === undefined ? DEFAULT_MODE : Number.parseInt(params.mode, 8),
        sizeBytes: params.sizeBytes,
        content: upload,
      },
      params.gone,
    );
  } catch (error) {
    if (upload.exceeded) throw tooLarge();
    throw vmError(context, params.kind, await unlessMoved(context, caller, { row, ref: params, error }));
  }
}

export async function downloadFile(context: Context, caller: Caller, params: FileParams): Promise<FileBody> {
  const path = readUrlPath(params.encodedPath);
  return callVm(context, caller, params, (row, client) => client.readFile(row, path, params.gone)).catch(
    (error: unknown) => {
      throw vmError(context, params.kind, error);
    },
  );
}

export async function listDirectory(
  context: Context,
  caller: Caller,
  params: FileParams,
): Promise<DirectoryListing> {
  const path = readUrlPath(params.encodedPath);
  return callVm(context, caller, params, (row, client) => client.listDirectory(row, path, params.gone)).catch(
    (error: unknown) => {
      throw vmError(context, params.kind, error);
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
