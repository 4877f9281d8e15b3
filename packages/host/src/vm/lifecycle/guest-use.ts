import type { GuestChannel } from "../../guest/channel.ts";
import type { VmLifecycle } from "./vm-lifecycle.ts";
import type { Running } from "./vm-table.ts";

/** A guest that is kept running until this is disposed of. */
export interface GuestUse extends Disposable {
  readonly channel: GuestChannel;
}

/** Takes the guest for a use. Where it does not go on, the error says why: it has ended, or this host process
 *  is ending. */
export async function useGuest(
  lifecycle: VmLifecycle,
  entry: Running,
  take: (guestHalt: Running["guestHalt"]) => Promise<Disposable>,
): Promise<GuestUse> {
  const use = await take(entry.guestHalt).catch(async (error: unknown) => {
    throw await lifecycle.whyFailed(entry, error);
  });
  return { channel: entry.live.channel, [Symbol.dispose]: () => use[Symbol.dispose]() };
}
