// Files of a sandbox or a machine.

import { Type } from "typebox";
import { DirectoryListing, FileQuery, FileWriteQuery, FileWritten } from "@skerry/contract/vms/files";
import type { ErrorCode } from "@skerry/contract/errors";
import type { Operation } from "../../api/operation.ts";
import { inVmErrors } from "../vm-errors.ts";
import type { VmKind } from "../vm-kind.ts";
import { filePathOf } from "./file-path.ts";
import { vmPath } from "../vm-path.ts";

function filePath(kind: VmKind) {
  const { params, idOf } = vmPath(kind);
  const path = Type.String({ description: "Absolute path in the microVM, without its first slash." });
  return { idOf, params: Type.Object({ ...params.properties, "*": path }) };
}

const ofPath = [
  "invalid_path",
  "file_not_found",
  "path_is_directory",
  "path_not_directory",
  "path_not_file",
  "permission_denied",
] as const satisfies ErrorCode[];

export function uploadFileOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "PUT",
    path: `/v1/${table}/:id/files/*`,
    tag: table,
    summary: `Upload a file to a ${noun}`,
    description:
      "The body is the file, of at most 100 MB. Missing parent directories are made, and the file appears whole or not at all.",
    ...filePath(kind),
    query: FileWriteQuery,
    body: "bytes",
    answers: { 200: FileWritten },
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.file.upload`, resource: noun, detail: filePathOf },
    errors: [...inVmErrors(kind), ...ofPath, "payload_too_large", "upload_incomplete", "disk_full"],
  } as const satisfies Operation;
}

export function downloadFileOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/files/*`,
    tag: table,
    summary: `Download a file or list a directory of a ${noun}`,
    description:
      "The answer is the file's bytes. With `list=true` the path is a directory, and the answer is a `DirectoryListing`.",
    ...filePath(kind),
    query: FileQuery,
    answers: { 200: DirectoryListing },
    answersBytes: true,
    // What a sandbox computes is in its files; a caller that may read those could as well run `cat`.
    access: { scope: `${table}:execute`, role: "member", rate: "read" },
    audit: { action: `${noun}.file.download`, resource: noun, detail: filePathOf },
    errors: [...inVmErrors(kind), ...ofPath],
  } as const satisfies Operation;
}
