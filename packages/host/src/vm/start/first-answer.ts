import { setTimeout as sleep } from "node:timers/promises";
import type { GuestChannel } from "../../guest/channel.ts";
import { runState, type Qmp } from "../qemu/qmp.ts";

/** KVM met something that it cannot execute, and QEMU has stopped the guest for good. */
export class KvmInternalError extends Error {
  override readonly name = "KvmInternalError";
  override readonly message = "KVM could not execute the guest's code, and QEMU has stopped it";
}

/** A clone has answered by then; a boot takes longer. */
const LOOK_EVERY_MS = 200;

/** Waits for a guest's first answer, and no longer where KVM has given the guest up. */
export async function firstAnswer(
  qmp: Pick<Qmp, "execute">,
  connecting: Promise<GuestChannel>,
): Promise<GuestChannel> {
  const over = new AbortController();
  try {
    return await Promise.race([connecting, givenUp(qmp, over.signal)]);
  } finally {
    over.abort();
  }
}

async function givenUp(qmp: Pick<Qmp, "execute">, signal: AbortSignal): Promise<never> {
  for (;;) {
    await sleep(LOOK_EVERY_MS, undefined, { signal });
    // A QEMU that waits for a slow disk may answer late; one that has ended closes the guest's channel.
    if ((await runState(qmp).catch(() => undefined)) === "internal-error") throw new KvmInternalError();
  }
}
