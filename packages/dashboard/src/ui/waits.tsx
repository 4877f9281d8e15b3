import type { WaitsFor } from "@skerry/contract/waits-for";
import { When } from "./when.tsx";

/** The cause of a delay as a sentence, on the page of what is held up. */
export function Waits({ what }: { readonly what: WaitsFor | null }) {
  if (what === null) return null;
  return (
    <p class="waits">
      It {what.reason} <span class="muted">(since</span> <When at={what.since} />
      <span class="muted">)</span>
    </p>
  );
}
