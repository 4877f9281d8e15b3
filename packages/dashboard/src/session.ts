// Who is logged in, and what they may do.

import { computed, signal } from "@preact/signals";
import { SkerryApiError, type Me, type Scope } from "@skerry/sdk";
import { skerry } from "./api.ts";
import { BASE } from "./router.ts";

/** `loading` until the server has said it. */
export type Session = { readonly state: "loading" | "none" } | { readonly state: "open"; readonly me: Me };

export const session = signal<Session>({ state: "loading" });

/** Null before login. */
export const me = computed(() => (session.value.state === "open" ? session.value.me : null));

/** Throws what is neither a session nor the lack of one. */
export async function readSession(): Promise<void> {
  try {
    session.value = (await hasCookie()) ? { state: "open", me: await skerry.me() } : { state: "none" };
  } catch (error) {
    if (!isLoggedOut(error)) throw error;
    session.value = { state: "none" };
  }
}

/** The tabs of this browser have one cookie together. */
const others = new BroadcastChannel("skerry session");

/** Tells other tabs that the session is another one, or none. What they show is of the one before, and what they did would be done by this one. */
export function tellOtherTabs(): void {
  others.postMessage(null);
}

/** Has other tabs begin anew when the session was changed in one of them. Call it once. */
export function followOtherTabs(): void {
  others.addEventListener("message", () => location.reload());
}

/** To be told of every failure: one of them may be the first to show that the session is over. */
export function noteFailure(error: unknown): void {
  if (isLoggedOut(error)) session.value = { state: "none" };
}

export function may(scope: Scope): boolean {
  return me.value?.scopes.includes(scope) ?? false;
}

/** Why one may not do what needs the scope, for a tooltip; empty where one may. */
export function refusalOf(needs: Scope | undefined): string {
  return needs === undefined || may(needs) ? "" : `Needs the scope ${needs}.`;
}

/** Asked first: browsers report a call that is refused as a fault of the page. Where there is no answer, the call itself says why. */
async function hasCookie(): Promise<boolean> {
  const answer = await fetch(`${BASE}/session`).catch(() => undefined);
  return answer?.ok !== true || (await answer.json()) !== false;
}

function isLoggedOut(error: unknown): boolean {
  return error instanceof SkerryApiError && error.status === 401;
}
