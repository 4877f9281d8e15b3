// Files and archives on their way into a guest and out of it. They last as long as their clients like, and what moves the guest must not.

import { SkerryError } from "@skerry/contract/errors";
import type { Host } from "../app/host.ts";

/** From when a move holds the guest, before which it has waited for 30 s. Meanwhile new operations wait, and those do so for 30 s. */
const HELD_MS = 20_000;

type Engine = Host["engine"];
type GuestUse = Awaited<ReturnType<Engine["useUntilHeld"]>>;

export interface Transfer extends GuestUse {
  /** Aborts with a `SkerryError` when it must end. */
  readonly cut: AbortSignal;
}

export async function useForTransfer(
  engine: Pick<Engine, "useUntilHeld">,
  id: string,
  executionId: string,
): Promise<Transfer> {
  const cut = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const use = await engine.useUntilHeld(id, executionId, () => {
    timer = setTimeout(() => cut.abort(moving()), HELD_MS);
  });
  return {
    ...{ channel: use.channel, cut: cut.signal },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      use[Symbol.dispose]();
    },
  };
}

/** What comes of it until `cut` aborts, with which it throws; also in the middle of waiting for more. */
export async function* untilCut(
  content: AsyncIterable<Buffer>,
  cut: AbortSignal,
): AsyncGenerator<Buffer, void> {
  let stopWaiting = (_reason: Error): void => undefined;
  const onAbort = (): void => stopWaiting(cut.reason as Error);
  cut.addEventListener("abort", onAbort, { once: true });
  const pieces = content[Symbol.asyncIterator]();
  // A race of each piece with one promise of the abort would hold all pieces until that promise settles.
  const next = (): Promise<IteratorResult<Buffer, unknown>> => {
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Buffer, unknown>>();
    stopWaiting = reject;
    pieces.next().then(resolve, reject);
    return promise;
  };
  try {
    for (;;) {
      cut.throwIfAborted();
      const { value, done } = await next();
      if (done === true) return;
      yield value;
    }
  } finally {
    cut.removeEventListener("abort", onAbort);
  }
}

function moving(): SkerryError {
  return new SkerryError(
    "vm_moving",
    "The microVM is being moved, and the transfer took too long for that.",
    {
      remediation: "Make the transfer again. Of an archive, what has arrived stays.",
      retryAfterS: 2,
    },
  );
}
