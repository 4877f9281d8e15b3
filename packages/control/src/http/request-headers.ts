// Heads of requests that two readers could understand in two ways, or that no client has a reason to send.

import type { FastifyInstance } from "fastify";
import type { IncomingMessage } from "node:http";
import { SkerryError } from "@skerry/contract/errors";

/** Node would drop what goes beyond a limit of its own without a word, and the token might be in there. */
const FIELDS_MAX = 100;

/** A proxy before us may look at another one of two than we do. (Node refuses a second Content-Length by itself.) */
const once: ReadonlySet<string> = new Set([
  "accept",
  "authorization",
  "content-encoding",
  "content-type",
  "host",
  "idempotency-key",
  "x-api-key",
  "x-org-id",
]);

declare module "fastify" {
  interface FastifyContextConfig {
    /** Its bodies are not for us to read, so they may be compressed. */
    takesEncodedBodies?: boolean;
  }
}

export function rejectAmbiguousHeaders(app: FastifyInstance): void {
  app.addHook("onRequest", async (request, reply) => {
    const takesEncoded = !request.is404 && request.routeOptions.config.takesEncodedBodies === true;
    const fault = faultOf(request.raw) ?? (takesEncoded ? undefined : encodingFault(request.raw));
    if (fault === undefined) return;
    // What comes next on this connection may be a part of what was refused.
    void reply.header("connection", "close");
    throw fault;
  });
}

function faultOf({ rawHeaders, headers, httpVersion }: IncomingMessage): SkerryError | undefined {
  if (rawHeaders.length > 2 * FIELDS_MAX) return requestHeadersTooLarge();
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? "";
    if (!once.has(name)) continue;
    if (seen.has(name)) {
      return new SkerryError("bad_request", `The header "${name}" came more than once.`, {
        context: { header: name },
      });
    }
    seen.add(name);
  }
  if (headers.host === undefined && httpVersion !== "1.0") {
    return new SkerryError("bad_request", "The request has no `Host`.", { context: { header: "host" } });
  }
  return undefined;
}

function encodingFault({ headers }: IncomingMessage): SkerryError | undefined {
  const encoding = headers["content-encoding"];
  if (encoding === undefined || encoding === "identity") return undefined;
  return new SkerryError("unsupported_media_type", "The body is compressed, and no call takes that.", {
    remediation: "Send the body without `Content-Encoding`.",
    context: { header: "content-encoding" },
  });
}

export function requestHeadersTooLarge(): SkerryError {
  return new SkerryError(
    "headers_too_large",
    `The head of the request is larger than 16 KiB, or has more than ${FIELDS_MAX} fields.`,
  );
}

/** Path and query of a URL that names its server too, as one does to a proxy: routes know only their own path. */
export function originForm(url: string): string {
  const [, rest] = /^https?:\/\/[^/?]*(.*)$/is.exec(url) ?? [];
  if (rest === undefined) return url;
  return rest.startsWith("/") ? rest : `/${rest}`;
}
