// The stream of changes: one for each tab, none for a hidden tab. "Live" is what the server says, and not that a connection is open.

import { computed, effect, signal } from "@preact/signals";
import type { ResourceEvent } from "@skerry/sdk";
import { skerry } from "../api.ts";
import { nowMs } from "../clock.ts";
import { noteFailure, session } from "../session.ts";
import { applyChanges } from "./resources.ts";

/** The server says something every 15 s. */
const SILENT_AFTER_MS = 20_000;
/** A tab that is left for a moment keeps its stream. */
const HIDDEN_CLOSE_MS = 30_000;
/** Changes that come within one of these are drawn together. */
const DRAW_EVERY_MS = 250;

const lastWordMs = signal<number | null>(null);
const failed = signal<unknown>(undefined);

/** Grows when what is shown is to be read anew: after a `reset`, because what was missed is not known. */
export const generation = signal(0);

/** What the page can say of itself. Null: nothing was heard yet. */
export const liveness = computed<{ readonly isLive: boolean; readonly sinceMs: number | null } | null>(() => {
  if (failed.value !== undefined) return { isLive: false, sinceMs: lastWordMs.value };
  if (lastWordMs.value === null) return null;
  return { isLive: nowMs.value - lastWordMs.value < SILENT_AFTER_MS, sinceMs: lastWordMs.value };
});

let cursor: string | undefined;

/** Follows what happens while a session is open and the tab is visible. Call it once. */
export function startLive(): void {
  const isSeen = signal(!document.hidden);
  let leaving: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(leaving);
    if (document.hidden) leaving = setTimeout(() => (isSeen.value = false), HIDDEN_CLOSE_MS);
    else isSeen.value = true;
  });
  const isOpen = computed(() => session.value.state === "open");
  effect(() => {
    if (!isOpen.value || !isSeen.value) return;
    const stop = new AbortController();
    void follow(stop.signal);
    return () => stop.abort();
  });
}

async function follow(signal: AbortSignal): Promise<void> {
  const pending = new Map<string, ResourceEvent>();
  let drawing: ReturnType<typeof setTimeout> | undefined;
  const draw = () => {
    drawing = undefined;
    const changes = [...pending.values()];
    pending.clear();
    applyChanges(changes);
  };
  try {
    for await (const change of skerry.events({ after: cursor }, { signal })) {
      ({ cursor } = change);
      failed.value = undefined;
      lastWordMs.value = nowMs.peek();
      if (change.type === "reset") generation.value += 1;
      if (change.type !== "changed") continue;
      pending.set(`${change.kind} ${change.id}`, change);
      drawing ??= setTimeout(draw, DRAW_EVERY_MS);
    }
  } catch (error) {
    if (signal.aborted) return;
    failed.value = error;
    noteFailure(error);
  } finally {
    clearTimeout(drawing);
    draw();
  }
}
