// What is known of a file in a sandbox, as E2B's clients are told it.

import { posix } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { FileInfo } from "@skerry/contract/vms/files";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import { statFile } from "../vms/files/file-changes.ts";
import type { SandboxCall } from "./sandbox-call.ts";
import { metadataOf } from "./file-metadata.ts";
import { FileType, type EntryInfoSchema } from "./wire/filesystem_pb.js";

export type EntryInfo = MessageInitShape<typeof EntryInfoSchema>;

export const encodedPathOf = (path: string): string => encodeURIComponent(path.slice(1));

/** Of a link it tells where it leads, and the type of what is there. */
export async function entryAt(context: Context, call: SandboxCall, path: string): Promise<EntryInfo> {
  const params = { ...call, encodedPath: encodedPathOf(path) };
  const info = await statFile(context, call.caller, { ...params, follow: false });
  return entryOf(context, call, info);
}

export async function entryOf(context: Context, call: SandboxCall, info: FileInfo): Promise<EntryInfo> {
  const plain = plainEntry(info);
  if (info.type !== "symlink") return plain;
  const target = posix.resolve(posix.dirname(info.path), info.target ?? "");
  return { ...plain, symlinkTarget: target, type: await typeBehind(context, call, info.path) };
}

async function typeBehind(context: Context, call: SandboxCall, path: string): Promise<FileType> {
  const params = { ...call, encodedPath: encodedPathOf(path), follow: true };
  try {
    return types[(await statFile(context, call.caller, params)).type];
  } catch (error) {
    // It leads nowhere, or in a circle.
    if (error instanceof SkerryError && error.status < 500) return FileType.SYMLINK;
    throw error;
  }
}

const types: Readonly<Record<FileInfo["type"], FileType>> = {
  file: FileType.FILE,
  directory: FileType.DIRECTORY,
  symlink: FileType.SYMLINK,
  other: FileType.UNSPECIFIED,
};

const typeLetters: Readonly<Record<FileInfo["type"], string>> = {
  file: "-",
  directory: "d",
  symlink: "L",
  other: "?",
};

function plainEntry(info: FileInfo): EntryInfo {
  const { path, name, type, size, mode, owner, group, modified, attributes } = info;
  const bits = Number.parseInt(mode, 8) & 0o777;
  return {
    ...{ name, path, type: types[type], size: BigInt(size), mode: bits, owner, group },
    permissions: typeLetters[type] + permissionsOf(bits),
    modifiedTime: timestampFromMs(Date.parse(modified)),
    metadata: metadataOf(attributes),
  };
}

/** Such as `rwxr-xr-x`. */
function permissionsOf(bits: number): string {
  return "rwxrwxrwx"
    .split("")
    .map((letter, index) => (bits & (0o400 >> index) ? letter : "-"))
    .join("");
}
