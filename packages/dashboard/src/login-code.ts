// The code that `skerry open` has put behind the hash of the address, which browsers send to no server.

import { signal } from "@preact/signals";
import { go, path } from "./router.ts";

/** Until it is used. */
export const loginCode = signal<string | undefined>(undefined);

/** Takes it out of the address, and so out of the browser's history, before anything is sent. Call it first. */
export function takeLoginCode(): void {
  if (path.value !== "/login") return;
  loginCode.value = new URLSearchParams(location.hash.slice(1)).get("code") ?? undefined;
  go("/", { replace: true });
}
