// Whether the server has another dashboard by now than the one that runs here: after an upgrade the files of the old one are gone.

import { signal } from "@preact/signals";
import { BASE } from "./router.ts";

const LOOK_EVERY_MS = 5 * 60_000;
/** A page that is loaded anew and finds the same again, because replicas differ for a while, is not loaded anew at once. */
const RELOAD_AGAIN_AFTER_MS = 60_000;
const RELOADED_AT = "skerry-reloaded-at";

/** There is another one, which a page that is loaded anew would have. */
export const isReplaced = signal(false);

/** Looks now and then while the tab is seen, and when it is seen again. Call it once. */
export function watchServedVersion(): void {
  const look = () => {
    // What fails is asked again later.
    if (!document.hidden && !isReplaced.peek()) lookAtServed().catch(() => undefined);
  };
  setInterval(look, LOOK_EVERY_MS);
  document.addEventListener("visibilitychange", look);
}

/** To be called where a file of the dashboard does not come. Loads the page anew, once, where that would help; where not, returns. */
export async function reloadWhereReplaced(): Promise<void> {
  await lookAtServed().catch(() => undefined);
  const lastMs = Number(sessionStorage.getItem(RELOADED_AT) ?? 0);
  if (!isReplaced.peek() || Date.now() - lastMs < RELOAD_AGAIN_AFTER_MS) return;
  sessionStorage.setItem(RELOADED_AT, String(Date.now()));
  location.reload();
}

/** The page names its program by a hash of what is in it. */
async function lookAtServed(): Promise<void> {
  const own = document.querySelector<HTMLScriptElement>('script[type="module"]')?.getAttribute("src");
  const answer = await fetch(`${BASE}/`, { cache: "no-cache" });
  if (own == null || !answer.ok) return;
  isReplaced.value = !(await answer.text()).includes(own);
}
