// "Why?" beside a state: the sentence and where it leads, read when somebody asks, so that a list of a hundred makes no more requests than one of none.

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { ResourceEventKind } from "@skerry/sdk";
import type { Subject } from "../why/answer.tsx";
import { lazily } from "./lazily.tsx";

const Answer = lazily<Subject<ResourceEventKind>>(async () => (await import("../why/answer.tsx")).Answer);

/** The browser's own popover: above everything, closed by Escape and by a click elsewhere. */
export function Why<Kind extends ResourceEventKind>({ kind, of }: Subject<Kind>) {
  const id = useId();
  const isOpen = useSignal(false);
  return (
    <span class="why">
      <button type="button" class="quiet" popovertarget={id}>
        Why?
      </button>
      <div
        id={id}
        popover="auto"
        role="group"
        aria-label="Why it is so"
        onToggle={(event) => (isOpen.value = event.newState === "open")}
      >
        {isOpen.value && <Answer kind={kind} of={of} />}
      </div>
    </span>
  );
}
