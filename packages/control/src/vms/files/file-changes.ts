// What is known of files in a microVM, and what becomes of them besides their content.

import { SkerryError } from "@skerry/contract/errors";
import type { FileChange, FileInfo } from "@skerry/contract/vms/files";
import type { Caller } from "../../caller.ts";
import type { Context } from "../../context.ts";
import type { HostClient } from "../../host-client/host-client.ts";
import { checkPath, readUrlPath } from "../../values/paths.ts";
import { withPath } from "../name-path.ts";
import { callVm, runningVm, unlessMoved, vmError, type VmAtHost } from "../vm-kind.ts";
import type { FileParams } from "./files.ts";

const DIRECTORY_MODE = 0o755;

export function statFile(
  context: Context,
  caller: Caller,
  params: FileParams & { readonly follow: boolean },
): Promise<FileInfo> {
  return onPath(context, caller, params, (vm, client, path) =>
    client.files.stat(vm, path, params.follow, params.gone),
  );
}

/** With the missing ones above it. One that is there stays as it is. */
export function makeDirectory(
  context: Context,
  caller: Caller,
  params: FileParams & { readonly mode: string | undefined },
): Promise<FileInfo> {
  const mode = params.mode === undefined ? DIRECTORY_MODE : Number.parseInt(params.mode, 8);
  return onPath(context, caller, params, (vm, client, path) =>
    client.files.makeDirectory(vm, path, mode, params.gone),
  );
}

/** A move that was made cannot be made again, so it is called once. */
export async function changeFile(
  context: Context,
  caller: Caller,
  params: FileParams & { readonly change: FileChange },
): Promise<FileInfo> {
  const path = readUrlPath(params.encodedPath);
  const { path: to, mode } = checkedChange(params.change);
  const { row, client } = await runningVm(context, caller, params);
  const change = {
    path,
    ...(to === undefined ? {} : { to: checkPath("path", to) }),
    ...(mode === undefined ? {} : { mode: Number.parseInt(mode, 8) }),
  };
  return client.files.change(row, change, params.gone).catch(async (error: unknown) => {
    const moved = await unlessMoved(context, caller, { row, ref: params, error });
    throw withPath(await vmError(context, caller, params, moved), inTheWay(error) ? (to ?? path) : path);
  });
}

/** What stands where a file is moved to. */
function inTheWay(error: unknown): boolean {
  const codes = ["directory_not_empty", "path_is_directory"];
  return error instanceof SkerryError && codes.includes(error.code);
}

function checkedChange(change: FileChange): FileChange {
  const fields = Object.keys(change);
  if (fields.length === 1) return change;
  throw new SkerryError(
    "bad_request",
    `The body names ${fields.length === 0 ? "no change" : "two changes"}.`,
    {
      remediation: "Give `path` to move the file, or `mode` to set its permissions.",
    },
  );
}

/** What was removed by a call whose answer was lost is not there any more, so it is called once too. */
export async function removeFile(
  context: Context,
  caller: Caller,
  params: FileParams & { readonly recursive: boolean },
): Promise<void> {
  const path = readUrlPath(params.encodedPath);
  const { row, client } = await runningVm(context, caller, params);
  await client.files.remove(row, path, params.recursive, params.gone).catch(async (error: unknown) => {
    const moved = await unlessMoved(context, caller, { row, ref: params, error });
    throw withPath(await vmError(context, caller, params, moved), path);
  });
}

/** For a call that may be made twice. */
async function onPath<T>(
  context: Context,
  caller: Caller,
  params: FileParams,
  call: (vm: VmAtHost, client: HostClient, path: string) => Promise<T>,
): Promise<T> {
  const path = readUrlPath(params.encodedPath);
  return callVm(context, caller, params, (vm, client) => call(vm, client, path)).catch(
    async (error: unknown) => {
      throw withPath(await vmError(context, caller, params, error), path);
    },
  );
}
