// Bodies of JSON that may be larger than those of other calls. One counts against its organization's share of this process' memory from
// before it is read until the answer has been sent: what is made of it (text, values, bytes) is as large, and is held as long.

import type { ServerResponse } from "node:http";
import { Transform, type Readable, type TransformCallback } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import { stateOf, type Context } from "../context.ts";
import { leftInItsBody } from "../http/errors.ts";
import { MemoryShares, USUAL_SHARE } from "../values/memory-shares.ts";
import { callerOf } from "./authenticate-hook.ts";
import type { LargeBody } from "./operation.ts";

/** A third of it for an organization that is alone: three bodies of 14 MiB. */
const SHARED_BYTES = 128 * 1024 * 1024;
/** Bodies up to here are not counted, so that no organization's large ones refuse another's usual calls. */
const UNCOUNTED_BYTES = 64 * 1024;
const RETRY_AFTER_S = 5;

const memoryOf = stateOf(() => new MemoryShares(SHARED_BYTES, USUAL_SHARE));

/** Functions that give back the memory that is held for an answer. */
const held = new WeakMap<ServerResponse, () => void>();

/** For an answer that lasts longer than what was made of its body. */
export function releaseLargeBody(answer: ServerResponse): void {
  held.get(answer)?.();
}

/** For a route, before its body is read. */
export function holdLargeBody(context: Context, { maxBytes, otherwise }: LargeBody) {
  const memory = memoryOf(context);
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: Readable,
  ): Promise<Readable | undefined> => {
    const announced = request.headers["content-length"];
    if (announced !== undefined && Number(announced) <= UNCOUNTED_BYTES) return undefined;
    if (Number(announced) > maxBytes) throw bodyTooLarge(maxBytes, otherwise);
    const { orgId } = callerOf(request);
    let heldBytes = 0;
    const take = (bytes: number): void => {
      // It closes once, and what is taken after that would never be given back.
      if (reply.raw.closed) throw leftInItsBody();
      if (!memory.take(orgId, bytes)) throw noMemory(otherwise);
      heldBytes += bytes;
    };
    const give = () => {
      memory.give(orgId, heldBytes);
      heldBytes = 0;
    };
    held.set(reply.raw, give);
    reply.raw.once("close", give);
    if (announced === undefined) {
      return counted(payload, maxBytes, (bytes) => {
        if (heldBytes + bytes + UNCOUNTED_BYTES > maxBytes) throw bodyTooLarge(maxBytes, otherwise);
        take(bytes);
      });
    }
    take(Number(announced));
    return undefined;
  };
}

/**
 * A body of which nothing has said how long it is. What is refused is read on to its end before the error is told, because a client that
 * still writes when its connection closes never sees why; of more than the allowed length once again, no more is read.
 */
function counted(body: Readable, maxBytes: number, take: (bytes: number) => void): Readable {
  let bytes = 0;
  let refused: Error | undefined;
  const passed = new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      const before = Math.max(bytes, UNCOUNTED_BYTES);
      bytes += chunk.length;
      if (refused !== undefined) return done(bytes > 2 * maxBytes ? refused : null);
      try {
        take(Math.max(0, bytes - before));
        done(null, chunk);
      } catch (error) {
        refused = error as Error;
        done();
      }
    },
    flush: (done) => done(refused),
  });
  // Not `pipeline`, which would close the connection before it is answered.
  body.once("error", (error) => passed.destroy(error));
  return body.pipe(passed);
}

function bodyTooLarge(maxBytes: number, otherwise: string): SkerryError {
  return new SkerryError("payload_too_large", `The body is larger than ${maxBytes} bytes.`, {
    remediation: otherwise,
    context: { max_bytes: maxBytes },
  });
}

function noMemory(otherwise: string): SkerryError {
  return new SkerryError(
    "no_capacity",
    "The organization's share of the memory for large requests is used up.",
    {
      remediation: `Try again when other requests have ended. ${otherwise}`,
      retryAfterS: RETRY_AFTER_S,
    },
  );
}
