// Directories of a microVM as tar archives. Both ways the bytes pass through; nothing here holds one, or looks into it.

import type { Readable } from "node:stream";
import { ARCHIVE_MAX_BYTES } from "@skerry/contract/bounds";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import { readUrlPath } from "../../values/paths.ts";
import { withPath } from "../name-path.ts";
import { callVm, runningVm, unlessMoved, vmError } from "../vm-kind.ts";
import { BoundedUpload, uploadTooLarge } from "./bounded-upload.ts";
import type { FileParams } from "./files.ts";

export async function packDirectory(context: Context, caller: Caller, params: FileParams): Promise<Readable> {
  const path = readUrlPath(params.encodedPath);
  return callVm(context, caller, params, (vm, client) => client.files.pack(vm, path, params.gone)).catch(
    async (error: unknown) => {
      throw withPath(await vmError(context, caller, params, error), path);
    },
  );
}

/** What was unpacked before it broke off stays. */
export async function unpackArchive(
  context: Context,
  caller: Caller,
  params: FileParams & { readonly content: AsyncIterable<Buffer> },
): Promise<void> {
  const path = readUrlPath(params.encodedPath);
  const { row, client } = await runningVm(context, caller, params);
  const content = new BoundedUpload(params.content, ARCHIVE_MAX_BYTES);
  try {
    await client.files.unpack(row, { path, content }, params.gone);
  } catch (error) {
    if (content.exceeded) throw uploadTooLarge(ARCHIVE_MAX_BYTES);
    const moved = await unlessMoved(context, caller, { row, ref: params, error });
    throw withPath(await vmError(context, caller, params, moved), path);
  }
}
