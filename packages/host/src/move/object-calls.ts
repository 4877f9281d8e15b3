// Calls of an object store by URLs that control has signed. The store is not trusted: what it answers is bounded, and it is not followed elsewhere.

import { SkerryError } from "@skerry/contract/errors";
import { watchProgress } from "../system/progress-watch.ts";

/** For an object of some MiB that is put there. */
const OBJECT_DEADLINE_MS = 120_000;
/** Least part of an object that counts as progress: a store that sends byte after byte keeps others waiting
 *  as a silent one does. */
const PROGRESS_BYTES = 1024 ** 2;
/** Until an object begins to come, and without progress then. A store that takes calls and does not answer
 *  keeps the layers that wait behind this one from other hosts. */
export const ANSWER_DEADLINE_MS = 20_000;
const NOT_FOUND = 404;

export async function putObject(url: string, content: Buffer, stop: AbortSignal): Promise<void> {
  // The store answers when it has all of the object.
  const late = AbortSignal.timeout(OBJECT_DEADLINE_MS);
  try {
    const answer = await call(url, { method: "PUT", body: content }, AbortSignal.any([stop, late]));
    await answer.body?.cancel();
  } catch (error) {
    stop.throwIfAborted();
    throw late.aborted ? unavailable("It does not answer.", error) : error;
  }
}

export interface GetObject {
  readonly maxBytes: number;
  readonly withinMs: number;
  readonly stop: AbortSignal;
}

/** Throws `stored_layer_damaged` where there is none, or it is longer, and `object_store_unavailable` where
 *  it does not come within the time, or stops. */
export async function getObject(url: string, { maxBytes, withinMs, stop }: GetObject): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const slow = new AbortController();
  const measure = async (): Promise<number> => Math.floor(length / PROGRESS_BYTES);
  const watch = watchProgress({ withinMs, measure }, (why) =>
    slow.abort(unavailable(`An object does not come: ${why}.`)),
  );
  try {
    const { body } = await call(url, { method: "GET" }, AbortSignal.any([stop, slow.signal]));
    for await (const part of body ?? []) {
      length += part.length;
      if (length > maxBytes) throw damaged("an object is longer than it was stored");
      parts.push(part);
    }
  } catch (error) {
    stop.throwIfAborted();
    slow.signal.throwIfAborted();
    throw error instanceof SkerryError ? error : unavailable("It broke off its answer.", error);
  } finally {
    watch.stop();
  }
  return Buffer.concat(parts);
}

async function call(url: string, init: RequestInit, stop: AbortSignal): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(url, { ...init, redirect: "error", signal: stop });
  } catch (error) {
    stop.throwIfAborted();
    throw unavailable("It does not answer.", error);
  }
  if (answer.ok) return answer;
  await answer.body?.cancel();
  if (answer.status === NOT_FOUND && init.method === "GET") throw damaged("an object is not there");
  throw unavailable(`It answers with status ${answer.status}.`);
}

export function damaged(why: string, cause?: unknown): SkerryError {
  return new SkerryError("stored_layer_damaged", `The object store has not what was put there: ${why}.`, {
    cause,
  });
}

/** Nothing of the URL, which is good for its holder. */
export function unavailable(why: string, cause?: unknown): SkerryError {
  return new SkerryError("object_store_unavailable", `The object store cannot be used. ${why}`, { cause });
}
