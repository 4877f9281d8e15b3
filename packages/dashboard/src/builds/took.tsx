import type { ComponentChildren } from "preact";
import { nowMs } from "../clock.ts";
import { durationText } from "../ui/text.ts";

interface Timed {
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

/** How long it took, or takes by now; nothing before it has begun. */
export function tookOf(timed: Timed): ComponentChildren {
  return <Took {...timed} />;
}

function Took({ started_at: from, finished_at: until }: Timed) {
  if (from === null) return null;
  const endMs = until === null ? nowMs.value : Date.parse(until);
  return <>{durationText(endMs - Date.parse(from))}</>;
}
