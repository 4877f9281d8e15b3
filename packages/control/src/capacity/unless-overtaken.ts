// A refusal of room to a request that another one has overtaken: several ask at the same time for one VM to run, the first takes the room, and to the
// others none seems to be left, although they need none.

import { SkerryError, type ErrorCode } from "@skerry/contract/errors";

const refusals: ReadonlySet<ErrorCode> = new Set(["no_capacity", "quota_exceeded"]);

/** Undefined in the place of a refusal where the row is not as it was seen any more: its reader looks again. */
export async function unlessOvertaken<T>(
  reserving: Promise<T>,
  isAsSeen: () => Promise<boolean>,
): Promise<T | undefined> {
  try {
    return await reserving;
  } catch (error) {
    const isRefusal = error instanceof SkerryError && refusals.has(error.code);
    if (isRefusal && !(await isAsSeen())) return undefined;
    throw error;
  }
}
