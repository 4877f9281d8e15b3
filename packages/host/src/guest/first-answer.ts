import { setTimeout as sleep } from "node:timers/promises";
import { ChannelClosed, type GuestChannel } from "./channel.ts";
import { GIVEN_UP, runState, type Qmp } from "../vm/qemu/qmp.ts";

/** KVM met something that it cannot execute, and QEMU has stopped the guest for good. */
export class KvmInternalError extends Error {
  override readonly name = "KvmInternalError";
  override readonly message = "KVM could not execute the guest's code, and QEMU has stopped it";
}

/** A clone has answered by then; a boot takes longer. */
const LOOK_EVERY_MS = 200;

type Asked = Pick<Qmp, "execute" | "closed">;

/** Waits for a guest's first answer, and no longer where its QEMU has ended or KVM has given it up. */
export async function firstAnswer(qmp: Asked, connecting: Promise<GuestChannel>): Promise<GuestChannel> {
  const over = new AbortController();
  try {
    return await Promise.race([connecting, ended(qmp), givenUp(qmp, over.signal)]);
  } finally {
    over.abort();
  }
}

/** It may end before there is a connection to its guest that could tell. */
async function ended(qmp: Asked): Promise<never> {
  await qmp.closed;
  throw new ChannelClosed("the guest's QEMU has ended", { hungUp: true });
}

async function givenUp(qmp: Asked, signal: AbortSignal): Promise<never> {
  for (;;) {
    await sleep(LOOK_EVERY_MS, undefined, { signal });
    // The event may have come before anything listened. A QEMU that waits for a slow disk may answer late; one that has ended closes the guest's channel.
    if ((await runState(qmp).catch(() => undefined)) === GIVEN_UP) throw new KvmInternalError();
  }
}
