// Moves as they come and go: other than in a list, a new one is shown at once, because nobody waits for a button to see a drain.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Move } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { resources } from "./resources.ts";
import { useLoaded } from "./use-loaded.ts";

const READ_MAX = 500;

export interface Moves {
  /** Those under way, and those that ended within a day, in no order. */
  readonly all: readonly Move[];
  readonly error: unknown;
}

export function useMoves(): Moves {
  const changed = useSignal<ReadonlyMap<string, Move | null>>(new Map());
  const read = useLoaded("moves", async (signal) => {
    const { items } = await skerry.moves.page({ limit: READ_MAX }, { signal });
    for (const move of items) resources.move.put(move);
    return items;
  });
  useEffect(
    () =>
      resources.move.listen((move, id) => {
        changed.value = new Map(changed.peek()).set(id, move);
      }),
    [],
  );
  const known = new Map<string, Move | null>((read.value ?? []).map((move) => [move.id, move]));
  for (const [id, move] of changed.value) known.set(id, move);
  return { all: [...known.values()].filter((move) => move !== null), error: read.error };
}
