import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface PageProps {
  readonly title: ComponentChildren;
  /** Of the tab. */
  readonly name: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** What every page begins with. A reader who hears the page is told that it is another one. */
export function Page({ title, name, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${name} · Skerry`;
  }, [name]);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <>
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <div class="actions">{actions}</div>
      </header>
      {children}
    </>
  );
}

/** Nothing for a moment, then that something comes. */
export function Loading() {
  return (
    <div class="loading" role="status">
      Loading…
    </div>
  );
}

/** What there could be, and how to make one. */
export function Empty({ what, command }: { readonly what: string; readonly command?: string }) {
  return (
    <div class="empty">
      <p>{what}</p>
      {command !== undefined && (
        <p>
          <code>{command}</code>
        </p>
      )}
    </div>
  );
}
