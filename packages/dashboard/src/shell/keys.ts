// Keys that work on every page. Not while a person types into a field.

import { go } from "../router.ts";
import { isHelpOpen, isPaletteOpen } from "./open-dialogs.ts";

/** After `g`. */
export const places = {
  o: ["/", "Overview"],
  p: ["/apps", "Apps"],
  s: ["/sandboxes", "Sandboxes"],
  m: ["/machines", "Machines"],
  t: ["/templates", "Templates"],
  u: ["/builds", "Builds"],
  n: ["/snapshots", "Snapshots"],
  h: ["/hosts", "Hosts"],
  b: ["/services", "Background services"],
  a: ["/audit", "Audit log"],
  l: ["/organization", "Organization"],
} as const satisfies Readonly<Record<string, readonly [string, string]>>;

/** How long `g` waits for its second key. */
const SECOND_KEY_MS = 1_500;
let wentAtMs = -Infinity;

export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key === "k") {
      event.preventDefault();
      isPaletteOpen.value = true;
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
    if (press(event.key, event.timeStamp)) event.preventDefault();
  });
}

/** True where the key meant something. */
function press(key: string, atMs: number): boolean {
  const isSecond = atMs - wentAtMs < SECOND_KEY_MS;
  wentAtMs = key === "g" ? atMs : -Infinity;
  if (isSecond && Object.hasOwn(places, key)) {
    go(places[key as keyof typeof places][0]);
    return true;
  }
  if (key === "?") {
    isHelpOpen.value = true;
    return true;
  }
  if (key === "/") {
    const filter = document.querySelector<HTMLInputElement>("input[type=search]");
    filter?.focus();
    return filter !== null;
  }
  return false;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest("input,textarea,select,dialog,.xterm") !== null)
  );
}
