// Files of a sandbox or a machine. Both ways the bytes pass through; nothing here holds a file.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { downloadFile, listDirectory, uploadFile } from "./files.ts";
import type { VmKind } from "../vm-kind.ts";
import { encodedFilePath } from "./file-path.ts";
import { callerOf } from "../../api/authenticate-hook.ts";
import { requestSignal } from "../../api/request-signal.ts";
import type { Handler } from "../../api/routes.ts";
import { BYTES } from "../../http/octet-stream-bodies.ts";
import type { downloadFileOperation, uploadFileOperation } from "./file-operations.ts";

export function uploadFileHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof uploadFileOperation>> {
  return (request, reply) =>
    uploadFile(context, callerOf(request), {
      ...fileParams(kind, request, reply),
      mode: request.query.mode,
      sizeBytes: contentLength(request),
      // Leaving the loop must not destroy the connection: the answer still has to go out.
      content: request.raw.iterator({ destroyOnReturn: false }),
    });
}

export function downloadFileHandler(
  context: Context,
  kind: VmKind,
): Handler<ReturnType<typeof downloadFileOperation>> {
  return async (request, reply) => {
    const params = fileParams(kind, request, reply);
    if (request.query.list === true) return listDirectory(context, callerOf(request), params);
    const file = await downloadFile(context, callerOf(request), params);
    if (file.sizeBytes !== undefined) void reply.header("content-length", file.sizeBytes);
    // A browser must not run any file on our origin.
    void reply.header("x-content-type-options", "nosniff").type(BYTES);
    // A stream passes by the schema, which describes the listing.
    return reply.send(file.content);
  };
}

function fileParams(kind: VmKind, request: FastifyRequest<{ Params: { id: string } }>, reply: FastifyReply) {
  const encodedPath = encodedFilePath(request.raw.url ?? "");
  return { kind, id: request.params.id, encodedPath, gone: requestSignal(reply) };
}

function contentLength(request: FastifyRequest): number | undefined {
  const text = request.headers["content-length"];
  return text === undefined ? undefined : Number(text);
}
