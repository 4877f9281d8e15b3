import { useSignal } from "@preact/signals";
import { noteFailure } from "../session.ts";

interface Deed {
  readonly isBusy: boolean;
  /** Of the last time, as long as it is not done again. */
  readonly error: unknown;
  readonly act: (run: () => Promise<unknown>) => Promise<void>;
}

/** Something that is sent: whether it is on its way, and what it failed by. */
export function useDeed(): Deed {
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const act = async (run: () => Promise<unknown>) => {
    isBusy.value = true;
    error.value = undefined;
    try {
      await run();
    } catch (failure) {
      error.value = failure;
      noteFailure(failure);
    } finally {
      isBusy.value = false;
    }
  };
  return { isBusy: isBusy.value, error: error.value, act };
}
