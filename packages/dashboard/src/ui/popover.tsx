import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface PopoverProps {
  readonly kind: "why" | "copy-as";
  /** On its button. */
  readonly text: string;
  /** What the button is called, where its text alone would not tell it from others of the page. */
  readonly name?: string | undefined;
  /** Of what it shows. */
  readonly label: string;
  /** Made when it is open: a list of a hundred costs what one of none costs. */
  readonly children: () => ComponentChildren;
}

/** A button and what it opens, the browser's own: above everything, closed by Escape and by a click elsewhere. */
export function Popover({ kind, text, name, label, children }: PopoverProps) {
  const id = useId();
  const isOpen = useSignal(false);
  return (
    <span class={`opens ${kind}`}>
      <button type="button" class="quiet" popovertarget={id} aria-label={name}>
        {text}
      </button>
      <div
        id={id}
        popover="auto"
        role="group"
        aria-label={label}
        onToggle={(event) => (isOpen.value = event.newState === "open")}
      >
        {isOpen.value && children()}
      </div>
    </span>
  );
}
