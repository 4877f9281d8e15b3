import { nowMs } from "../clock.ts";
import { durationText } from "./text.ts";

/** How long ago, or how long until, with the whole time in the tooltip. */
export function When({ at }: { readonly at: string | null }) {
  if (at === null) return <span class="faint">–</span>;
  const distanceMs = nowMs.value - Date.parse(at);
  const text = distanceMs >= 0 ? `${durationText(distanceMs)} ago` : `in ${durationText(-distanceMs)}`;
  return (
    <time dateTime={at} title={at}>
      {text}
    </time>
  );
}
