import { useSignal } from "@preact/signals";

const SHOWN_MS = 1_500;

/** A button that copies; it says whether the browser has let it. */
export function Copy({ text, label }: { readonly text: string; readonly label: string }) {
  const outcome = useSignal<string | null>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      outcome.value = "Copied";
    } catch {
      outcome.value = "The browser refuses";
    }
    setTimeout(() => (outcome.value = null), SHOWN_MS);
  };
  return (
    <button type="button" class="quiet" aria-label={`Copy ${label}`} onClick={() => void copy()}>
      <span aria-live="polite">{outcome.value ?? "Copy"}</span>
    </button>
  );
}

/** An id: short to read, whole to copy. */
export function Id({ id, short }: { readonly id: string; readonly short: string }) {
  return (
    <code class="id" title={id}>
      {short}
    </code>
  );
}
