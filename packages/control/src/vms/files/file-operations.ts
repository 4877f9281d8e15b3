// Files of a sandbox or a machine.

import { Type } from "typebox";
import {
  DirectoryListing,
  DirectoryQuery,
  FileChange,
  FileInfo,
  FileQuery,
  FileWriteQuery,
  FileWritten,
  RemoveQuery,
  StatQuery,
} from "@skerry/contract/vms/files";
import type { ErrorCode } from "@skerry/contract/errors";
import { NoFields } from "@skerry/contract/named";
import type { Access, Operation } from "../../api/operation.ts";
import { ofSignedUrl } from "../signed-urls/signature.ts";
import { fileSigned } from "../signed-urls/signed-things.ts";
import { admitVisitor } from "../signed-urls/visitors.ts";
import { inVmErrors } from "../vm-errors.ts";
import type { VmKind } from "../vm-kind.ts";
import { changedPathOf, filePathOf } from "./file-path.ts";
import { vmPath } from "../vm-path.ts";

/** Lets in who has a signed URL of this file, with the mode that was signed. Neither a list of what is below the path nor attributes were signed. */
function visitors(kind: VmKind, method: "GET" | "PUT"): NonNullable<Access["admit"]> {
  return (context, request, takeTicket) => {
    const { id } = request.params as { readonly id: string };
    const { list, attributes, mode } = request.query as {
      readonly list?: unknown;
      readonly attributes?: unknown;
      readonly mode?: string;
    };
    const path =
      list === undefined && attributes === undefined ? filePathOf({ url: request.raw.url ?? "" }) : undefined;
    const what = path === undefined ? "nothing" : fileSigned(method, path, mode);
    return admitVisitor(context, request, { kind, id, what, takeTicket });
  };
}

export function filePath(kind: VmKind) {
  const { params, idOf } = vmPath(kind);
  const path = Type.String({ description: "Absolute path in the microVM, without its first slash." });
  return { idOf, params: Type.Object({ ...params.properties, "*": path }) };
}

export const ofPath = [
  "invalid_path",
  "file_not_found",
  "path_is_directory",
  "path_not_directory",
  "path_not_file",
  "permission_denied",
] as const satisfies ErrorCode[];

const ofArchive = ["program_missing", "archive_refused"] as const satisfies ErrorCode[];

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
    access: {
      ...{ scope: `${table}:execute`, role: "member", rate: "write" },
      admit: visitors(kind, "PUT"),
    },
    audit: { action: `${noun}.file.upload`, resource: noun, detail: filePathOf },
    errors: [
      ...inVmErrors(kind),
      ...ofPath,
      ...ofSignedUrl,
      "payload_too_large",
      "upload_incomplete",
      "disk_full",
    ],
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
      "The answer is the file's bytes, or with `Range` one part of them as 206. With `list=true` the path is a directory, and the answer is a `DirectoryListing`, also of the levels below it with `depth`.",
    ...filePath(kind),
    query: FileQuery,
    answers: { 200: DirectoryListing },
    answersBytes: true,
    // What a sandbox computes is in its files; a caller that may read those could as well run `cat`.
    access: {
      ...{ scope: `${table}:execute`, role: "member", rate: "read" },
      admit: visitors(kind, "GET"),
    },
    audit: { action: `${noun}.file.download`, resource: noun, detail: filePathOf },
    errors: [...inVmErrors(kind), ...ofPath, ...ofSignedUrl, "range_not_satisfiable"],
  } as const satisfies Operation;
}

export function statFileOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/stat/*`,
    tag: table,
    summary: `Get what is known of a file in a ${noun}`,
    description: "Of a file, a directory or a symbolic link.",
    ...filePath(kind),
    query: StatQuery,
    answers: { 200: FileInfo },
    access: { scope: `${table}:execute`, role: "member", rate: "read" },
    audit: { action: `${noun}.file.stat`, resource: noun, detail: filePathOf },
    errors: [...inVmErrors(kind), ...ofPath],
  } as const satisfies Operation;
}

export function makeDirectoryOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "PUT",
    path: `/v1/${table}/:id/directories/*`,
    tag: table,
    summary: `Make a directory in a ${noun}`,
    description: "Missing directories above it are made too. One that is there stays as it is.",
    ...filePath(kind),
    query: DirectoryQuery,
    body: NoFields,
    isBodyOptional: true,
    answers: { 200: FileInfo },
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.directory.create`, resource: noun, detail: filePathOf },
    errors: [...inVmErrors(kind), ...ofPath, "disk_full"],
  } as const satisfies Operation;
}

export function changeFileOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "PATCH",
    path: `/v1/${table}/:id/files/*`,
    tag: table,
    summary: `Move or change a file of a ${noun}`,
    description:
      "Moves a file or a directory (`path`), or sets its permissions (`mode`). A move makes missing directories above its target, replaces a file or an empty directory that is there, and moves a symbolic link itself; permissions are those of what a link leads to.",
    ...filePath(kind),
    body: FileChange,
    answers: { 200: FileInfo },
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.file.update`, resource: noun, detail: changedPathOf },
    errors: [...inVmErrors(kind), ...ofPath, "directory_not_empty", "program_missing", "disk_full"],
  } as const satisfies Operation;
}

export function removeFileOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "DELETE",
    path: `/v1/${table}/:id/files/*`,
    tag: table,
    summary: `Remove a file of a ${noun}`,
    description:
      "A file, a symbolic link and not what it leads to, an empty directory, and with `recursive=true` a directory with all that is in it.",
    ...filePath(kind),
    query: RemoveQuery,
    answers: { 204: Type.Null({ description: "It is gone." }) },
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.file.remove`, resource: noun, detail: filePathOf },
    errors: [...inVmErrors(kind), ...ofPath, "directory_not_empty"],
  } as const satisfies Operation;
}

export const ARCHIVE_TYPE = "application/x-tar";

export function packDirectoryOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "GET",
    path: `/v1/${table}/:id/archives/*`,
    tag: table,
    summary: `Download a directory of a ${noun}`,
    description: `A tar archive of what is in the directory, by the \`tar\` of the ${noun}, as it is written. One that breaks off has no end.`,
    ...filePath(kind),
    answers: {
      200: { description: "The archive.", content: { [ARCHIVE_TYPE]: { schema: Type.String() } } },
    },
    answersBytes: true,
    access: { scope: `${table}:execute`, role: "member", rate: "read" },
    audit: { action: `${noun}.directory.download`, resource: noun, detail: filePathOf },
    errors: [...inVmErrors(kind), ...ofPath, ...ofArchive],
  } as const satisfies Operation;
}

export function unpackArchiveOperation(kind: VmKind) {
  const { noun, table } = kind;
  return {
    surface: "v1",
    method: "PUT",
    path: `/v1/${table}/:id/archives/*`,
    tag: table,
    summary: `Upload a directory to a ${noun}`,
    description: `The body is a tar archive of at most 10 GB, not compressed. The \`tar\` of the ${noun} unpacks it into the directory as it comes; the directory is made where it is missing. What was unpacked before a failure stays.`,
    ...filePath(kind),
    body: "bytes",
    answers: { 204: Type.Null({ description: "All was unpacked." }) },
    access: { scope: `${table}:execute`, role: "member", rate: "write" },
    audit: { action: `${noun}.directory.upload`, resource: noun, detail: filePathOf },
    errors: [
      ...inVmErrors(kind),
      ...ofPath,
      ...ofArchive,
      "payload_too_large",
      "upload_incomplete",
      "disk_full",
    ],
  } as const satisfies Operation;
}
