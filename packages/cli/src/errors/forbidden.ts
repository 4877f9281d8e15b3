// What a token may not see.

import { SkerryApiError } from "@skerry/sdk";

/** For `catch`: undefined where the token may not, and else what was thrown. */
export function noneIfForbidden(error: unknown): undefined {
  if (error instanceof SkerryApiError && error.code === "forbidden") return undefined;
  throw error;
}
