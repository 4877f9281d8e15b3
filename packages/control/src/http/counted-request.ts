// The request and the response of node:http, counting the bytes of their bodies for the request log, streams included.

import { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyRequest } from "fastify";
import type { ErrorCode } from "@skerry/contract/errors";
import { newId } from "@skerry/contract/ids";

/** It is logged, so nothing that looks like a token is one. */
const SANE_REQUEST_ID = /^(?!sk_)[A-Za-z0-9_.-]{1,64}$/;

export class CountedRequest extends IncomingMessage {
  bodyBytes = 0;
  /** Of the route that serves it, such as `/v1/sandboxes/{id}`; undefined where none does. */
  pattern: string | undefined;
  /** Of what its path names otherwise. */
  resourceId: string | undefined;
  /** The name of the port that it came by, in the place of the API's; `none` where no port can have it. */
  portHost: string | undefined;
  /** A header named the port that it is for, and not its path. */
  isLedByHeader = false;
  /** Of the answer, where it is an error. */
  errorCode: ErrorCode | undefined;
  /** Who sent it, once that is known. */
  caller: { readonly orgId: string; readonly tokenId: string } | undefined;
  readonly #startedMs = performance.now();
  #id: string | undefined;

  /** Since its head has come. */
  get ageMs(): number {
    return performance.now() - this.#startedMs;
  }

  /** The client's own where it sent a sane one. */
  get requestId(): string {
    const sent = this.headers["x-request-id"];
    this.#id ??= typeof sent === "string" && SANE_REQUEST_ID.test(sent) ? sent : newId("request");
    return this.#id;
  }

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    this.bodyBytes += bytesOf(chunk, encoding);
    return super.push(chunk, encoding);
  }
}

/** Our server makes no other kind of request. */
export function countedRequestOf(request: FastifyRequest): CountedRequest {
  return request.raw as CountedRequest;
}

type Done = (error?: Error | null) => void;

/**
 * Each hook, the memory that a request holds, its signal and a pipeline listen for its end; Node warns from
 * 11 on.
 */
const LISTENERS_MAX = 24;

export class CountedResponse extends ServerResponse<CountedRequest> {
  bodyBytes = 0;
  /** It was answered 101, and became a WebSocket. */
  isUpgraded = false;

  constructor(...args: ConstructorParameters<typeof ServerResponse<CountedRequest>>) {
    super(...args);
    this.setMaxListeners(LISTENERS_MAX);
  }

  override write(chunk: unknown, encoding?: BufferEncoding | Done, done?: Done): boolean {
    this.bodyBytes += bytesOf(chunk, encoding);
    // The overloads of the original differ only in which arguments are left out.
    return super.write(chunk, encoding as BufferEncoding, done);
  }

  override end(chunk?: unknown, encoding?: BufferEncoding | (() => void), done?: () => void): this {
    this.bodyBytes += bytesOf(chunk, encoding);
    return super.end(chunk, encoding as BufferEncoding, done);
  }
}

function bytesOf(chunk: unknown, encoding: unknown): number {
  if (chunk instanceof Uint8Array) return chunk.length;
  if (typeof chunk !== "string") return 0;
  return Buffer.byteLength(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
}

export type Listener = (request: CountedRequest, response: CountedResponse) => void;
