// A list that stays as it is while a person reads it: rows change in place, and what is new waits above until it is asked for.

import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Page, ResourceEventKind } from "@skerry/sdk";
import { noteFailure } from "../session.ts";
import { generation } from "./live.ts";
import { resources, type Resources, type ResourceOf } from "./resources.ts";
import { useEvery } from "./use-every.ts";

export interface ListPage<Kind extends ResourceEventKind> extends Page<ResourceOf<Kind>> {
  /** By status, where the page has asked for it. */
  readonly counts?: Readonly<Record<string, number>> | undefined;
}

export interface List<Kind extends ResourceEventKind> {
  readonly rows: readonly ReadonlySignal<ResourceOf<Kind> | null>[];
  readonly counts: Readonly<Record<string, number>>;
  /** How many have appeared since it was read, as far as `NEWER_MAX`. */
  readonly newer: number;
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly error: unknown;
  readonly reload: () => void;
  readonly loadMore: () => void;
}

/** Beyond so many, a list only says that there are more: a tab may be left open for a week. */
export const NEWER_MAX = 999;

interface Options<Kind extends ResourceEventKind> {
  readonly kind: Kind;
  /** Another one is another list. */
  readonly key: string;
  /** Whether a new one would be in it, as far as the page can tell. */
  readonly takes: (resource: ResourceOf<Kind>) => boolean;
  readonly load: (cursor: string | undefined, signal: AbortSignal) => Promise<ListPage<Kind>>;
  /** Its first page is read again after so long, while the tab is seen: for what changes without an event. */
  readonly everyMs?: number;
}

export function useList<Kind extends ResourceEventKind>({
  kind,
  key,
  takes,
  load,
  everyMs,
}: Options<Kind>): List<Kind> {
  // The table of kinds says so; the compiler does not follow the kind through it.
  const store = resources[kind] as unknown as Resources<Kind>;
  const rows = useSignal<readonly ReadonlySignal<ResourceOf<Kind> | null>[]>([]);
  const counts = useSignal<Readonly<Record<string, number>>>({});
  const next = useSignal<string | null>(null);
  const wanted = useSignal<string | undefined>(undefined);
  const isLoading = useSignal(true);
  const error = useSignal<unknown>(undefined);
  const newer = useNewer(store, key, takes);
  const turn = useSignal(0);
  const reload = () => {
    wanted.value = undefined;
    turn.value += 1;
  };
  useEffect(() => {
    rows.value = [];
    wanted.value = undefined;
  }, [key]);
  useEffect(() => {
    const stop = new AbortController();
    const cursor = wanted.value;
    isLoading.value = true;
    load(cursor, stop.signal).then(
      (page) => {
        if (stop.signal.aborted) return;
        isLoading.value = false;
        error.value = undefined;
        const read = page.items.map((item) => store.put(item));
        rows.value = cursor === undefined ? read : [...rows.value, ...read];
        if (cursor === undefined) newer.clear();
        if (page.counts !== undefined) counts.value = page.counts;
        next.value = page.next_cursor;
      },
      (failure: unknown) => {
        if (stop.signal.aborted) return;
        isLoading.value = false;
        error.value = failure;
        noteFailure(failure);
      },
    );
    return () => stop.abort();
  }, [key, turn.value, wanted.value, generation.value]);
  useEvery(everyMs, isLoading, reload);
  return {
    rows: rows.value,
    counts: counts.value,
    newer: newer.count,
    hasMore: next.value !== null,
    isLoading: isLoading.value,
    error: error.value,
    reload,
    loadMore: () => {
      if (!isLoading.value && next.value !== null) wanted.value = next.value;
    },
  };
}

/** How many that would be in the list have appeared since it was cleared. */
function useNewer<Kind extends ResourceEventKind>(
  store: Resources<Kind>,
  key: string,
  takes: Options<Kind>["takes"],
): { readonly count: number; readonly clear: () => void } {
  const ids = useRef(new Set<string>());
  const count = useSignal(0);
  useEffect(
    () =>
      store.listen((resource, id, isNew) => {
        if (!isNew || resource === null || ids.current.size === NEWER_MAX || !takes(resource)) return;
        count.value = ids.current.add(id).size;
      }),
    [key],
  );
  const clear = () => {
    ids.current.clear();
    count.value = 0;
  };
  return { count: count.value, clear };
}
