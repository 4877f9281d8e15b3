// What the procedures of the Connect protocol share: for whom and for which sandbox they run, when they stop, and what their failures are called.

import { Code, ConnectError, createContextKey, type HandlerContext } from "@connectrpc/connect";
import { codeFromString } from "@connectrpc/connect/protocol-connect";
import { SkerryError } from "@skerry/contract/errors";
import { toSkerryError } from "../http/errors.ts";
import type { SandboxCall } from "./sandbox-call.ts";
import { isSandboxAway, rpcCodeOf } from "./e2b-errors.ts";

/** There is no call without one: the route sets it. */
export const sandboxCallKey = createContextKey<SandboxCall | undefined>(undefined);

/** Aborted to break the answer off in the place of ending it. */
export const breakKey = createContextKey<AbortController | undefined>(undefined);

/** The call, whose `gone` aborts with an error of ours also where the deadline of its client is over. */
export function callOf({ values, signal }: HandlerContext): SandboxCall {
  const call = values.get(sandboxCallKey);
  if (call === undefined) throw new Error("a procedure was called without a sandbox");
  const gone = new AbortController();
  const end = () => gone.abort(whyGone(signal.reason));
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  return { ...call, gone: gone.signal };
}

/** The reason that we have given, such as that its token was revoked, or that this process ends. */
function whyGone(reason: unknown): SkerryError {
  return reason instanceof SkerryError
    ? reason
    : new SkerryError("canceled", "The client's time is over, or it went away.");
}

/** An error as the client gets it. Where the client's own time is over, that is the reason, whatever broke off first. */
export function rpcError(error: unknown, { signal }: HandlerContext): ConnectError {
  if (error instanceof ConnectError) return error;
  if (signal.aborted && signal.reason instanceof ConnectError) return signal.reason;
  const known = toSkerryError(error);
  return new ConnectError(
    known.message,
    codeFromString(rpcCodeOf(known)) ?? Code.Internal,
    undefined,
    undefined,
    error,
  );
}

/** The same of a call that answers once. */
export async function answering<Answer>(
  context: HandlerContext,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    throw rpcError(error, context);
  }
}

/** The same of one that streams. Where the sandbox goes away in the middle, its end with E2B is that of the connection: that is what makes the clients
 *  ask whether the sandbox is still there. */
export async function* streaming<Event>(
  context: HandlerContext,
  events: AsyncIterable<Event>,
): AsyncGenerator<Event> {
  let isBegun = false;
  try {
    for await (const event of events) {
      isBegun = true;
      yield event;
    }
  } catch (error) {
    if (isBegun && !(error instanceof ConnectError) && isSandboxAway(toSkerryError(error)))
      context.values.get(breakKey)?.abort();
    throw rpcError(error, context);
  }
}

const KEEPALIVE_DEFAULT_S = 90;
const KEEPALIVE_MIN_S = 1;

/** The events, and one of `keepalive` after each time without any that the client has asked for. */
export async function* withKeepalives<Event>(
  { requestHeader }: HandlerContext,
  events: AsyncIterable<Event>,
  keepalive: () => Event,
): AsyncGenerator<Event> {
  const asked = Number(requestHeader.get("keepalive-ping-interval") ?? KEEPALIVE_DEFAULT_S);
  const everyMs = 1_000 * (asked >= KEEPALIVE_MIN_S ? asked : KEEPALIVE_DEFAULT_S);
  const iterator = events[Symbol.asyncIterator]();
  try {
    for (let next = iterator.next(); ; next = iterator.next()) {
      for (;;) {
        const { promise, cancel } = silence(everyMs);
        const first = await Promise.race([next, promise]).finally(cancel);
        if (first !== undefined) break;
        yield keepalive();
      }
      const event = await next;
      if (event.done === true) return;
      yield event.value;
    }
  } finally {
    await iterator.return?.();
  }
}

function silence(ms: number): { readonly promise: Promise<undefined>; readonly cancel: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), Math.min(ms, 2_147_483_647));
  return { promise, cancel: () => clearTimeout(timer) };
}
