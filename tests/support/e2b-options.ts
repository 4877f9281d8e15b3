// What E2B's clients are told of a platform of ours.

import type { Platform } from "./platform.ts";

/** The longest that one request of theirs may take is in milliseconds. */
export function e2bOptions({ token, apiUrl }: Pick<Platform, "token" | "apiUrl">, requestTimeoutMs: number) {
  return {
    apiKey: `e2b_${Buffer.from(token).toString("hex")}`,
    apiUrl: `${apiUrl}/e2b`,
    sandboxUrl: `${apiUrl}/e2b/sandbox`,
    requestTimeoutMs,
  };
}
