// Ids of sandboxes as E2B's clients have them: ours without its kind (`bareId`), because they make names of hosts of it, and OpenSSL takes no wildcard of
// a certificate for a name with an underscore.

import { idKinds, isId } from "@skerry/contract/ids";

/** What answers call the client that a sandbox belongs to. */
export const CLIENT_ID = "skerry";

/** Our id of what a client names: as it was told, as we have it, or as older clients write it: `ID-CLIENT`, both of which an answer has told them. */
export function sandboxIdIn(text: string): string {
  const named = text.endsWith(`-${CLIENT_ID}`) ? text.slice(0, -CLIENT_ID.length - 1) : text;
  const whole = `${idKinds.sandbox}_${named}`;
  return isId("sandbox", whole) ? whole : named;
}
