// Calls of an object store by URLs that control has signed. The store is not trusted: what it answers is bounded, and it is not followed elsewhere.

import { SkerryError } from "@skerry/contract/errors";

/** For an object of some MiB. */
const OBJECT_DEADLINE_MS = 120_000;
/** Until an object begins to come. A store that takes calls and does not answer keeps the layers that wait behind this one from other hosts. */
const ANSWER_DEADLINE_MS = 20_000;
const NOT_FOUND = 404;

export async function putObject(url: string, content: Buffer, stop: AbortSignal): Promise<void> {
  const answer = await call(url, { method: "PUT", body: content }, stop);
  await answer.body?.cancel();
}

/** Throws `stored_layer_damaged` where there is none, or it is longer. */
export async function getObject(url: string, maxBytes: number, stop: AbortSignal): Promise<Buffer> {
  const { body } = await call(url, { method: "GET" }, stop);
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const part of body ?? []) {
      length += part.length;
      if (length > maxBytes) throw damaged("an object is longer than it was stored");
      parts.push(part);
    }
  } catch (error) {
    stop.throwIfAborted();
    throw error instanceof SkerryError ? error : unavailable("It broke off its answer.", error);
  }
  return Buffer.concat(parts);
}

async function call(url: string, init: RequestInit, stop: AbortSignal): Promise<Response> {
  const silent = new AbortController();
  // What is put there is answered when all of it has been sent.
  const answersWithinMs = init.method === "GET" ? ANSWER_DEADLINE_MS : OBJECT_DEADLINE_MS;
  const timer = setTimeout(() => silent.abort(), answersWithinMs);
  let answer: Response;
  try {
    const signal = AbortSignal.any([stop, silent.signal, AbortSignal.timeout(OBJECT_DEADLINE_MS)]);
    answer = await fetch(url, { ...init, redirect: "error", signal });
  } catch (error) {
    stop.throwIfAborted();
    throw unavailable("It does not answer.", error);
  } finally {
    clearTimeout(timer);
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
