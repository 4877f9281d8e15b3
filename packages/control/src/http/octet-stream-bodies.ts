import type { FastifyInstance } from "fastify";

export const BYTES = "application/octet-stream";

/** Any content type, or none, is a file; the handler reads the stream itself. */
export function takeOctetStreamBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(BYTES, (_request, _body, done) => done(null));
  scope.addHook("onRequest", async (request) => {
    request.raw.headers["content-type"] = BYTES;
  });
}
