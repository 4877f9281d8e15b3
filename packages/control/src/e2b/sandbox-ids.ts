// Ids of sandboxes as E2B's clients write them.

/** What answers call the client that a sandbox belongs to. */
export const CLIENT_ID = "skerry";

/** Older clients write a sandbox's id as `ID-CLIENT`, both of which an answer has told them. */
export function sandboxIdIn(text: string): string {
  return text.endsWith(`-${CLIENT_ID}`) ? text.slice(0, -CLIENT_ID.length - 1) : text;
}
