import type { FastifyInstance, FastifyRequest } from "fastify";
import { isUtf8 } from "node:buffer";
import { SkerryError } from "@skerry/contract/errors";
import { BYTES } from "./octet-stream-bodies.ts";

/** Calls whose fields are all optional may come without a body. */
export async function emptyBodyIsObject(request: FastifyRequest): Promise<void> {
  request.body ??= {};
}

/** JSON and nothing else. An empty body is no body: many clients name the type on every call. */
export function takeJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") return done(null, undefined);
    void parse(request, body, (error, value) =>
      done(error !== null && isJson(body) ? forbiddenName() : error, value),
    );
  });
}

/** Takes the bytes of a body as the one field of an object, beside JSON. */
export function takeRawField(scope: FastifyInstance, field: string): void {
  scope.addContentTypeParser<Buffer>(BYTES, { parseAs: "buffer" }, (_request, body, done) => {
    if (isUtf8(body)) done(null, { [field]: body.toString() });
    else done(new SkerryError("bad_request", "The body is not UTF-8.", { context: { field } }), undefined);
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What the parser refuses although it is JSON: names that, once copied into another object, would change what it inherits. */
function forbiddenName(): SkerryError {
  return new SkerryError(
    "bad_request",
    'A field of the body is named "__proto__", or "constructor" with a "prototype" in it. No field may have these names.',
    { remediation: "Give the field another name.", context: { field: "__proto__" } },
  );
}

const MIB = 1024 * 1024;
/** No call takes a larger body; what is announced larger is refused at once. */
const BODY_MAX_MIB = 16;

/**
 * A body of JSON has this long to come for each MiB that it says it has, in milliseconds. Files may take as long as their line is slow, so
 * there is no such limit on the connection.
 */
export function limitJsonBodies(app: FastifyInstance, bodyMs: number): void {
  app.addHook("preParsing", async (request, reply) => {
    if (request.raw.complete || !/^application\/json\b/i.test(request.headers["content-type"] ?? "")) return;
    const announced = Number(request.headers["content-length"] ?? 0);
    const mib = Math.min(Math.max(1, Math.ceil(announced / MIB)), BODY_MAX_MIB);
    const timer = setTimeout(() => {
      // The framework is reading, and answers the error of what it reads; otherwise no reader waits for this body.
      if (request.raw.listenerCount("error") > 0) request.raw.emit("error", bodyTooSlow());
    }, bodyMs * mib);
    const letGo = () => clearTimeout(timer);
    request.raw.once("end", letGo);
    reply.raw.once("close", letGo);
  });
}

function bodyTooSlow(): SkerryError {
  return new SkerryError("request_timeout", "The body of the request did not come in time.", {
    remediation: "Send the request again, on a new connection.",
  });
}
