// What the page begins with can be broken off like each later part (load-part.ts), and then nothing runs that could load it again.

const KEY = "skerry-reloads";
const TRIES = 4;
const PAUSE_MS = 300;

/** Call it before they are loaded. */
export function reloadWhenBroken(): void {
  let isBroken = false;
  const onError = ({ target }: Event) => {
    if (isBroken || !(target instanceof HTMLScriptElement || target instanceof HTMLLinkElement)) return;
    isBroken = true;
    const tried = Number(sessionStorage.getItem(KEY) ?? 0);
    if (tried >= TRIES) return;
    sessionStorage.setItem(KEY, String(tried + 1));
    setTimeout(() => location.reload(), PAUSE_MS * (tried + 1));
  };
  // Such an event does not rise from the element.
  addEventListener("error", onError, { capture: true });
  addEventListener("load", () => {
    if (!isBroken) sessionStorage.removeItem(KEY);
  });
}
