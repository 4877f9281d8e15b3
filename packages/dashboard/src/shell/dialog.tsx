import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface DialogProps {
  readonly label: string;
  readonly isOpen: Signal<boolean>;
  readonly children: ComponentChildren;
}

/** The browser's own: it keeps the focus, and Escape closes it. */
export function Dialog({ label, isOpen, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (isOpen.value) element.current?.showModal();
  }, [isOpen.value]);
  if (!isOpen.value) return null;
  return (
    <dialog
      ref={element}
      aria-label={label}
      onClose={() => (isOpen.value = false)}
      onClick={(event) => {
        if (event.target === event.currentTarget) element.current?.close();
      }}
    >
      {children}
    </dialog>
  );
}
