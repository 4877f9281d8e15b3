// Questions to the control plane of this machine, with the token that is saved here.

import type { Layout } from "./system/layout.ts";
import { savedToken } from "./servers/token.ts";

const DEADLINE_MS = 3_000;

/**
 * Control's answer; undefined where there is none, or none for this token. Call it only when it is our
 * control that listens.
 */
export async function askControl(layout: Layout, path: string): Promise<string | undefined> {
  const token = await savedToken(layout);
  if (token === undefined) return undefined;
  try {
    const response = await fetch(`${layout.apiUrl}${path}`, {
      headers: { authorization: `Bearer ${token}`, accept: "text/plain, application/json" },
      signal: AbortSignal.timeout(DEADLINE_MS),
      redirect: "error",
    });
    const text = await response.text();
    return response.ok ? text : undefined;
  } catch {
    return undefined;
  }
}
