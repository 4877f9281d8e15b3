import type { WaitsFor } from "@skerry/contract/waits-for";
import { When } from "./when.tsx";

/**
 * The cause of a delay as a sentence, on the page of the thing that is held up. A control of a version before
 * tells none.
 */
export function Waits({ what }: { readonly what: WaitsFor | null | undefined }) {
  if (what == null) return null;
  return (
    <p class="waits">
      It {what.reason} <span class="muted">(since</span> <When at={what.since} />
      <span class="muted">)</span>
    </p>
  );
}
