// Files of a sandbox or a machine. Both ways the bytes pass through; nothing here holds a file.

import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { DirectoryListing, FileQuery, FileWriteQuery, FileWritten } from "@skerry/contract/sandboxes";
import type { Context } from "../context.ts";
import { downloadFile, listDirectory, uploadFile } from "./files.ts";
import type { VmKind } from "./vm-kind.ts";
import { callerOf } from "../api/authenticate-hook.ts";
import { endOf } from "../api/request-lifetime.ts";
import type { Routes } from "../http/routes.ts";
import { ref } from "../http/schemas.ts";
import { vmParams, type VmResource } from "./vm-resource.ts";

const RAW = "application/octet-stream";

function fileParams(resource: VmResource) {
  return Type.Object({
    ...vmParams(resource.kind.noun).properties,
    "*": Type.String({ description: "Absolute path in the microVM, without its first slash." }),
  });
}

export function fileRoutes(context: Context, resource: VmResource): Routes {
  const { kind, operations, path } = resource;
  const params = fileParams(resource);
  return (app, _options, done) => {
    takeAnyBody(app);
    app.put(
      `${path}/:id/files/*`,
      {
        schema: {
          operationId: operations.uploadFile,
          tags: ["files"],
          summary: "Write a file; missing parent directories are made, and it appears whole or not at all",
          params,
          querystring: FileWriteQuery,
          response: { 200: ref(FileWritten) },
        },
      },
      async (request, reply) => {
        return uploadFile(context, callerOf(request), {
          ...fileWish(kind, request, reply),
          mode: request.query.mode,
          sizeBytes: contentLength(request),
          // Leaving the loop must not destroy the connection: the answer still has to go out.
          content: request.raw.iterator({ destroyOnReturn: false }),
        });
      },
    );
    app.get(
      `${path}/:id/files/*`,
      {
        // HEAD would have the host read the whole file for nothing.
        exposeHeadRoute: false,
        schema: {
          operationId: operations.downloadFile,
          tags: ["files"],
          summary: "Read a file; with `?list=true`, list a directory",
          params,
          querystring: FileQuery,
          response: { 200: ref(DirectoryListing) },
        },
      },
      async (request, reply) => {
        const wish = fileWish(kind, request, reply);
        if (request.query.list === true) return listDirectory(context, callerOf(request), wish);
        const file = await downloadFile(context, callerOf(request), wish);
        if (file.sizeBytes !== undefined) void reply.header("content-length", file.sizeBytes);
        // Whatever the file is, a browser must not run it on our origin.
        void reply.header("x-content-type-options", "nosniff").type(RAW);
        // A stream passes by the schema, which describes the listing.
        return (reply as FastifyReply).send(file.content);
      },
    );
    done();
  };
}

/** Any content type, or none, is a file; the handler reads the stream itself. */
function takeAnyBody(app: Parameters<Routes>[0]): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(RAW, (_request, _body, done) => done(null));
  app.addHook("onRequest", async (request) => {
    request.raw.headers["content-type"] = RAW;
  });
}

const FILES_PREFIX = /^\/v1\/[a-z]+\/[^/?]+\/files\//;

function fileWish(kind: VmKind, request: FastifyRequest<{ Params: { id: string } }>, reply: FastifyReply) {
  const url = request.raw.url ?? "";
  const query = url.indexOf("?");
  // From the raw URL, because the router has decoded its own copy already and `%2541` must stay `%41`.
  const encodedPath = (query < 0 ? url : url.slice(0, query)).replace(FILES_PREFIX, "");
  return { kind, id: request.params.id, encodedPath, gone: endOf(reply) };
}

function contentLength(request: FastifyRequest): number | undefined {
  const text = request.headers["content-length"];
  return text === undefined ? undefined : Number(text);
}
