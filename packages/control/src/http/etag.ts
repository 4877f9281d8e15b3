// Versions of what can be replaced: who replaces it can name the version that the change was made for, and loses nothing of another writer's.

import type { FastifyReply, FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";

export function sendVersion(reply: FastifyReply, version: number): void {
  void reply.header("etag", etagOf(version));
}

export function etagOf(version: number): string {
  return `"${version}"`;
}

/** What `If-Match` says of a version. */
export interface IfMatch {
  readonly matches: (version: number) => boolean;
  /** As it was sent, for the error. */
  readonly sent: string;
}

const TAGS = /^(W\/)?"[\x21\x23-\x7e]*"(\s*,\s*(W\/)?"[\x21\x23-\x7e]*")*$/;
const TAG = /(?:W\/)?"[^"]*"/g;
const SENT_MAX_CHARS = 100;

/** Undefined where any version will do. A weak tag matches none. */
export function ifMatchOf(request: FastifyRequest): IfMatch | undefined {
  const sent = request.headers["if-match"]?.trim();
  if (sent === undefined || sent === "*") return undefined;
  if (!TAGS.test(sent)) {
    throw new SkerryError("bad_request", "`If-Match` is not an ETag.", {
      remediation: 'Send the `ETag` of an earlier answer as it is, with its quotes, such as "2".',
      context: { field: "If-Match" },
    });
  }
  const tags = new Set(sent.match(TAG));
  return { matches: (version) => tags.has(etagOf(version)), sent: sent.slice(0, SENT_MAX_CHARS) };
}
