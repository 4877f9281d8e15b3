// Codes that log a browser in as the bearer of a token, so that no token has to be pasted: `skerry open` opens a page whose address ends with
// one. An address is seen by more than the browser, so a code is good for a minute and once.

import { randomBytes } from "node:crypto";
import { LOGIN_CODE_S, type LoginCode, type LoginCodeOwner } from "@skerry/contract/organizations/login";
import { SkerryError } from "@skerry/contract/errors";
import { authenticate, SECRET_BYTES, sha256, type readCredentials } from "../auth/authenticate.ts";
import type { Caller } from "../caller.ts";
import type { Context } from "../context.ts";
import type { Database } from "../db/database.ts";
import { describeCaller } from "../organizations/organizations.ts";
import { findLoginCode, insertLoginCode, takeLoginCode, type LoginCodeRow } from "./login-code-store.ts";

export async function mintLoginCode({ db }: Context, { tokenId, orgId }: Caller): Promise<LoginCode> {
  const code = randomBytes(SECRET_BYTES).toString("base64url");
  const row = { code_sha256: sha256(code), token_id: tokenId, org_id: orgId };
  return { code, expires_at: (await insertLoginCode(db, row, LOGIN_CODE_S)).toISOString() };
}

/** Of a token, as `authenticate` takes them. */
export type Credentials = ReturnType<typeof readCredentials>;

/** The token that minted the code, which still has to be authenticated: it may have been revoked since. No second call gets anything for the code. */
export async function spendLoginCode(db: Database, code: string): Promise<Credentials> {
  const found = await takeLoginCode(db, sha256(code));
  if (found === undefined || found.is_late) throw invalidCode();
  return credentialsOf(found);
}

/** Whom the code logs a browser in as, so that a person can be asked first: the address with the code may
 *  have come from another person. */
export async function describeLoginCode(context: Context, code: string): Promise<LoginCodeOwner> {
  const found = await findLoginCode(context.db, sha256(code));
  if (found === undefined || found.is_late) throw invalidCode();
  const caller = await authenticate(context, credentialsOf(found));
  const { name, organization_name } = await describeCaller(context, caller);
  return { name, organization_name };
}

function credentialsOf({ token_sha256, org_id }: LoginCodeRow): Credentials {
  return { secretSha256: token_sha256.toString("hex"), orgId: org_id };
}

/** As hexadecimal digits. */
export function digestOf(code: string): string {
  return sha256(code).toString("hex");
}

/** The same sentence for each kind of bad code: the difference would only help who guesses. */
function invalidCode(): SkerryError {
  return new SkerryError(
    "unauthorized",
    `The login code is not valid: it was used, is older than ${LOGIN_CODE_S} s, or never was one.`,
    { remediation: "`skerry open` opens the dashboard with a new one." },
  );
}
