// Sessions of browsers.

import { Type, type Static } from "typebox";
import { named } from "../named.ts";

/** A session ends this long after its login, or earlier with the token that it stands for. */
export const SESSION_MAX_S = 12 * 3_600;
/** A session that makes no request for so long has ended. */
export const SESSION_IDLE_S = 3_600;

export const SessionCreateRequest = named(
  "SessionCreateRequest",
  { token: Type.String({ minLength: 1, maxLength: 200, description: "An API token, `sk_…`." }) },
  { token: "sk_NEVERUSETHISEXAMPLEASATOKEN0123456789ABCDEF" },
);
export type SessionCreateRequest = Static<typeof SessionCreateRequest>;
