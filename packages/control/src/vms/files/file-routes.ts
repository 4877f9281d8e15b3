// Files of a sandbox or a machine. Both ways the bytes pass through; nothing here holds a file.

import { SkerryError } from "@skerry/contract/errors";
import { readAttributes } from "@skerry/contract/vms/file-attributes";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { noneOf, rangeOf, sendPart } from "./byte-range.ts";
import { downloadFile, listDirectory, uploadFile } from "./files.ts";
import { GUEST_CONTENT_POLICY } from "../guest-content.ts";
import type { VmKind } from "../vm-kind.ts";
import { encodedFilePath } from "./file-path.ts";
import { callerOf, knownCallerOf, tenantOf } from "../../api/authenticate-hook.ts";
import { requestSignal } from "../../api/request-signal.ts";
import type { Handler } from "../../api/routes.ts";
import { BYTES } from "../../http/octet-stream-bodies.ts";
import { changeFile, makeDirectory, removeFile, statFile } from "./file-changes.ts";
import { packDirectory, unpackArchive } from "./archives.ts";
import { ARCHIVE_TYPE } from "./file-operations.ts";
import type {
  changeFileOperation,
  downloadFileOperation,
  makeDirectoryOperation,
  packDirectoryOperation,
  removeFileOperation,
  statFileOperation,
  unpackArchiveOperation,
  uploadFileOperation,
} from "./file-operations.ts";

export function uploadFileHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof uploadFileOperation>> {
  return async (request, reply) => {
    const { mode, attributes } = request.query;
    return uploadFile(context, tenantOf(request), {
      ...fileParams(kind, request, reply),
      mode,
      attributes: attributes === undefined ? undefined : readAttributes(attributes),
      sizeBytes: contentLength(request),
      // Leaving the loop must not destroy the connection: the answer still has to go out.
      content: request.raw.iterator({ destroyOnReturn: false }),
    });
  };
}

export function downloadFileHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof downloadFileOperation>> {
  return async (request, reply) => {
    const params = fileParams(kind, request, reply);
    const { list, depth, limit } = request.query;
    if (list === true) return listDirectory(context, tenantOf(request), { ...params, depth, limit });
    const { content, sizeBytes } = await downloadFile(context, tenantOf(request), params);
    const range = sizeBytes === undefined ? undefined : rangeOf(request.headers, sizeBytes);
    if (range === "none") {
      content.on("error", () => undefined).destroy();
      void reply.header("content-range", `bytes */${sizeBytes}`);
      throw new SkerryError("range_not_satisfiable", noneOf(sizeBytes ?? 0));
    }
    if (sizeBytes !== undefined)
      void reply.header("content-length", sizeBytes).header("accept-ranges", "bytes");
    // A browser must not run any file on our origin.
    void reply.header("x-content-type-options", "nosniff").type(BYTES);
    // Who has a signed URL is led there by a page of anybody's.
    if (knownCallerOf(request) === undefined)
      void reply.header("content-security-policy", GUEST_CONTENT_POLICY);
    // A stream passes by the schema, which describes the listing.
    if (range !== undefined) return sendPart(reply, { range, sizeBytes: sizeBytes ?? 0, content });
    return reply.send(content);
  };
}

export function statFileHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof statFileOperation>> {
  return (request, reply) =>
    statFile(context, callerOf(request), {
      ...fileParams(kind, request, reply),
      follow: request.query.follow ?? false,
    });
}

export function makeDirectoryHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof makeDirectoryOperation>> {
  return (request, reply) =>
    makeDirectory(context, callerOf(request), {
      ...fileParams(kind, request, reply),
      mode: request.query.mode,
    });
}

export function changeFileHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof changeFileOperation>> {
  return (request, reply) =>
    changeFile(context, callerOf(request), {
      ...fileParams(kind, request, reply),
      change: request.body,
    });
}

export function removeFileHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof removeFileOperation>> {
  return async (request, reply) => {
    const recursive = request.query.recursive ?? false;
    await removeFile(context, callerOf(request), { ...fileParams(kind, request, reply), recursive });
    return reply.status(204).send();
  };
}

export function packDirectoryHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof packDirectoryOperation>> {
  return async (request, reply) => {
    const archive = await packDirectory(context, callerOf(request), fileParams(kind, request, reply));
    void reply.header("x-content-type-options", "nosniff").type(ARCHIVE_TYPE);
    return reply.send(archive);
  };
}

export function unpackArchiveHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof unpackArchiveOperation>> {
  return async (request, reply) => {
    await unpackArchive(context, callerOf(request), {
      ...fileParams(kind, request, reply),
      content: request.raw.iterator({ destroyOnReturn: false }),
    });
    return reply.status(204).send();
  };
}

export function fileParams(
  kind: VmKind,
  request: FastifyRequest<{ Params: { id: string } }>,
  reply: FastifyReply,
) {
  const encodedPath = encodedFilePath(request.raw.url ?? "");
  return { kind, id: request.params.id, encodedPath, gone: requestSignal(reply) };
}

function contentLength(request: FastifyRequest): number | undefined {
  const text = request.headers["content-length"];
  return text === undefined ? undefined : Number(text);
}
