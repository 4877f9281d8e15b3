// All resources of a kind of which there are few, as they come, change and go. A new one is shown at once,
// which nobody minds in a list that fits the window.

import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ResourceEventKind } from "@skerry/sdk";
import { resources, type ResourceOf, type Resources } from "./resources.ts";
import { useLoaded, type Loaded } from "./use-loaded.ts";

/** Newest first: ids tell when they were made. */
export function useAll<Kind extends ResourceEventKind>(
  kind: Kind,
  list: (signal: AbortSignal) => AsyncIterable<ResourceOf<Kind> & { readonly id: string }>,
): Loaded<readonly ResourceOf<Kind>[]> {
  // The table of kinds says so; the compiler does not follow the kind through it.
  const store = resources[kind] as unknown as Resources<Kind>;
  const cells = useSignal<ReadonlyMap<string, ReadonlySignal<ResourceOf<Kind> | null>>>(new Map());
  const loaded = useLoaded(`all of ${kind}`, async (signal) => {
    const read = new Map<string, ReadonlySignal<ResourceOf<Kind> | null>>();
    for await (const item of list(signal)) read.set(item.id, store.put(item));
    cells.value = read;
    return read;
  });
  useEffect(
    () =>
      store.listen((resource, id) => {
        if (resource !== null && !cells.peek().has(id))
          cells.value = new Map(cells.peek()).set(id, store.put(resource));
      }),
    [],
  );
  const newestFirst = [...cells.value].toSorted(([one], [other]) => (one < other ? 1 : -1));
  const value = newestFirst.flatMap(([, cell]) => cell.value ?? []);
  return { ...loaded, value: loaded.value && value };
}
