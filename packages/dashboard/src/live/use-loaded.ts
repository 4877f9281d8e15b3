// What a page reads once, and again when it is asked to: with the failure in the place of the value, and the old value while a new one comes.

import { useSignal } from "@preact/signals";
import { useCallback, useEffect } from "preact/hooks";
import { noteFailure } from "../session.ts";
import { generation } from "./live.ts";
import { useEvery } from "./use-every.ts";

export interface Loaded<Value> {
  /** The last one that came; undefined before the first. */
  readonly value: Value | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface Options {
  /** Read again after so long, while the tab is seen. */
  readonly everyMs?: number;
}

/** A value or a failure is there. A page shows what stands below only then, so that nothing moves. */
export const hasCome = ({ value, error }: Loaded<unknown>): boolean =>
  value !== undefined || error !== undefined;

/** Reads anew when `key` changes, and drops what it was. */
export function useLoaded<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
  { everyMs }: Options = {},
): Loaded<Value> {
  const value = useSignal<Value | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const isLoading = useSignal(true);
  const turn = useSignal(0);
  const reload = useCallback(() => void (turn.value += 1), []);
  useEffect(() => {
    value.value = undefined;
    error.value = undefined;
  }, [key]);
  useEffect(() => {
    const stop = new AbortController();
    isLoading.value = true;
    load(stop.signal).then(
      (found) => {
        if (stop.signal.aborted) return;
        value.value = found;
        error.value = undefined;
        isLoading.value = false;
      },
      (failure: unknown) => {
        if (stop.signal.aborted) return;
        error.value = failure;
        isLoading.value = false;
        noteFailure(failure);
      },
    );
    return () => stop.abort();
  }, [key, turn.value, generation.value]);
  useEvery(everyMs, isLoading, reload);
  return { value: value.value, error: error.value, isLoading: isLoading.value, reload };
}
