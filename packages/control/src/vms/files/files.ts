import { UPLOAD_MAX_BYTES } from "@skerry/contract/bounds";
import type { FileAttributes } from "@skerry/contract/vms/file-attributes";
import type { DirectoryListing, FileWritten } from "@skerry/contract/vms/files";
import type { FileBody } from "../../host-client/file-calls.ts";
import type { Tenant } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { readUrlPath } from "../../values/paths.ts";
import { BoundedUpload, uploadTooLarge } from "./bounded-upload.ts";
import { withPath } from "../name-path.ts";
import { callVm, runningVm, unlessMoved, vmError, type VmRef } from "../vm-kind.ts";

export interface FileParams extends VmRef {
  /** As in the URL, percent-encoded and without its first slash. */
  readonly encodedPath: string;
  /** The caller went away: the transfer ends. */
  readonly gone: AbortSignal;
}

/** The file appears whole or not at all. One that is there keeps its owner, its other names, and without a
 *  mode its permissions. */
export async function uploadFile(
  context: Context,
  caller: Tenant,
  params: FileParams & {
    /** Octal digits. Undefined: as the file that is there, or 0644. */
    readonly mode: string | undefined;
    /** Already checked. */
    readonly attributes?: FileAttributes | undefined;
    /** In bytes. */
    readonly maxBytes?: number;
    /** Undefined where the sender does not know it before the end. */
    readonly sizeBytes: number | undefined;
    readonly content: AsyncIterable<Buffer>;
  },
): Promise<FileWritten> {
  const path = readUrlPath(params.encodedPath);
  const { attributes, maxBytes = UPLOAD_MAX_BYTES } = params;
  if (params.sizeBytes !== undefined && params.sizeBytes > maxBytes) throw uploadTooLarge(maxBytes);
  const { row, client } = await runningVm(context, caller, params);
  const upload = new BoundedUpload(params.content, maxBytes);
  try {
    return await client.files.write(
      row,
      {
        path,
        mode: params.mode === undefined ? undefined : Number.parseInt(params.mode, 8),
        attributes,
        sizeBytes: params.sizeBytes,
        content: upload,
      },
      params.gone,
    );
  } catch (error) {
    if (upload.exceeded) throw uploadTooLarge(maxBytes);
    const moved = await unlessMoved(context, caller, { row, ref: params, error });
    throw withPath(await vmError(context, caller, params, moved), path);
  }
}

export async function downloadFile(context: Context, caller: Tenant, params: FileParams): Promise<FileBody> {
  const path = readUrlPath(params.encodedPath);
  return callVm(context, caller, params, (row, client) => client.files.read(row, path, params.gone)).catch(
    async (error: unknown) => {
      throw withPath(await vmError(context, caller, params, error), path);
    },
  );
}

export async function listDirectory(
  context: Context,
  caller: Tenant,
  params: FileParams & { readonly depth: number | undefined; readonly limit: number | undefined },
): Promise<DirectoryListing> {
  const path = readUrlPath(params.encodedPath);
  return callVm(context, caller, params, (row, client) =>
    client.files.list(row, path, params, params.gone),
  ).catch(async (error: unknown) => {
    throw withPath(await vmError(context, caller, params, error), path);
  });
}
