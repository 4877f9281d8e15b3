// The login that an address asks for, behind the hash, which browsers send to no server: the code that
// `skerry open` has made, or the token of an invitation.

import { signal } from "@preact/signals";
import type { SessionCreateRequest } from "@skerry/contract/organizations/login";
import { BASE, go, path } from "./router.ts";

/** Until it is used, or refused. */
export const askedLogin = signal<SessionCreateRequest | undefined>(undefined);

/**
 * Takes it out of the address, and so out of the browser's history, before anything is sent. Call it first.
 */
export function takeAskedLogin(): void {
  if (path.value !== "/login") return;
  const asked = new URLSearchParams(location.hash.slice(1));
  const code = asked.get("code");
  const token = asked.get("token");
  if (code !== null) askedLogin.value = { code };
  else if (token !== null) askedLogin.value = { token };
  go("/", { replace: true });
}

/** The address that asks for a login with this token, to be sent to the person whose it is. */
export function invitationAddress(token: string): string {
  return `${location.origin}${BASE}/login#token=${token}`;
}
