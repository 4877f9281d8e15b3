// Sessions of browsers.

import { Type, type Static } from "typebox";
import { Timestamp } from "../fields.ts";
import { exampleOf, named } from "../named.ts";

/** A session ends this long after its login, or earlier with the token that it stands for. */
export const SESSION_MAX_S = 12 * 3_600;
/** A session that makes no request for so long has ended. */
export const SESSION_IDLE_S = 3_600;

/** A code that logs a browser in is good for this long, and once. */
export const LOGIN_CODE_S = 60;

export const SessionCreateRequest = named(
  "SessionCreateRequest",
  {
    token: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: "An API token, `sk_…`. This, or `code`." }),
    ),
    code: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: "What `POST /v1/auth/login-codes` has answered. This, or `token`.",
      }),
    ),
  },
  { token: "sk_NEVERUSETHISEXAMPLEASATOKEN0123456789ABCDEF" },
);
export type SessionCreateRequest = Static<typeof SessionCreateRequest>;

export const LoginCode = named(
  "LoginCode",
  {
    code: Type.String({ description: "It is shown this once, and logs one browser in." }),
    expires_at: Timestamp,
  },
  { code: "NEVERUSETHISEXAMPLEASACODE_0123456789ABCDEF", expires_at: "2026-11-20T16:21:00.000Z" },
);
export type LoginCode = Static<typeof LoginCode>;

export const LoginCodeQuestion = named(
  "LoginCodeQuestion",
  { code: Type.String({ minLength: 1, maxLength: 200, description: "A code that was not used yet." }) },
  { code: exampleOf(LoginCode).code },
);
export type LoginCodeQuestion = Static<typeof LoginCodeQuestion>;

export const LoginCodeOwner = named(
  "LoginCodeOwner",
  {
    name: Type.String({ description: "The user that the code logs a browser in as." }),
    organization_name: Type.String({ description: "The organization of the session." }),
  },
  { name: "Ada", organization_name: "Example Ltd" },
);
export type LoginCodeOwner = Static<typeof LoginCodeOwner>;
