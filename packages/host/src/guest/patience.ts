// Waiting for work in a guest that its user's own programs and file systems may keep from ending.

import { SkerryError } from "@skerry/contract/errors";
import type { GuestChannel } from "./channel.ts";
import type { GuestStream } from "./stream.ts";

/** A guest that has not answered a short request by then is taken for dead. */
export const SHORT_DEADLINE_MS = 30_000;

export interface Patience {
  readonly deadlineMs: number;
  /** The caller has left. */
  readonly gone?: AbortSignal | undefined;
}

/** What takes too long, or is not waited for any more, is canceled. Only an agent that does not do so is taken for dead. */
export async function patiently<T>(
  channel: GuestChannel,
  stream: GuestStream,
  { deadlineMs, gone }: Patience,
  work: Promise<T>,
): Promise<T> {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stream.cancel();
  }, deadlineMs);
  const onGone = () => stream.cancel();
  gone?.addEventListener("abort", onGone, { once: true });
  if (gone?.aborted === true) onGone();
  try {
    const result = await withDeadline(channel, deadlineMs + SHORT_DEADLINE_MS, work);
    if (isLate) throw late(deadlineMs);
    return result;
  } catch (error) {
    throw isLate && error instanceof SkerryError && error.code === "canceled"
      ? late(deadlineMs, error)
      : error;
  } finally {
    clearTimeout(timer);
    gone?.removeEventListener("abort", onGone);
  }
}

function late(deadlineMs: number, cause?: unknown): SkerryError {
  return new SkerryError("guest_timeout", `The VM did not get on with it for ${deadlineMs / 1_000} s.`, {
    remediation: "What was done stays done. Have a command in the VM do the rest.",
    cause,
  });
}

/** A guest that lets a deadline pass is dropped: its channel is closed, and with it every operation. */
export async function withDeadline<T>(
  channel: GuestChannel,
  deadlineMs: number,
  work: Promise<T>,
): Promise<T> {
  const timer = setTimeout(
    () => channel.close(`the guest's agent did not answer within ${deadlineMs} ms`),
    deadlineMs,
  );
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
