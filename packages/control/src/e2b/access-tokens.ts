// Access tokens into sandboxes. One is made of a sandbox, an organization and a token of ours, whose rights it has. It counts if a key that is
// accepted has signed it, and if it was given away: the database keeps its digest. So neither a copy of the database nor the key makes one, and one
// ends with its sandbox, its organization, the token of ours, and the key.

import { hash } from "node:crypto";
import { authFailuresOf } from "../api/authenticate-hook.ts";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import type { SigningKeySet } from "../signing/signing-keys.ts";
import { accessesSince, givenState, noteAccess } from "./access-store.ts";
import { SignedFiles, type LoadTokens } from "./file-signatures.ts";
import type { Access } from "./noted-tokens.ts";

/** The caller's access to the sandbox. Throws `unauthorized` unless it was given this token. */
export async function accessBy(context: Context, sandboxId: string, accessToken: string): Promise<Access> {
  const [, secretSha256, orgId, code] =
    /^ea_([0-9a-f]{64})_(org_[0-9a-z]{26})_([A-Za-z0-9_-]{43})$/.exec(accessToken) ?? [];
  if (secretSha256 === undefined || orgId === undefined || code === undefined) throw refused();
  const access = { sandboxId, credentials: { secretSha256, orgId } };
  const keys = await context.signing.keys();
  // Before the database is asked, so that guesses cost it nothing.
  if (!keys.isSigned("e2b access", textOf(access), Buffer.from(code, "base64url"))) throw refused();
  const files = signedFilesOf(context, keys);
  if (files.knows(accessToken, access)) return access;
  const state = await givenState(context.db, { sandboxId, digest: digestOf(accessToken) });
  if (state === undefined) throw refused();
  // Of a sandbox that has ended its clients are told that, and not to get another token.
  if (state === "given") files.note(accessToken, access);
  return access;
}

/** Notes that it is given away, unless that is known. */
export async function giveAccess(context: Context, access: Access): Promise<string> {
  const keys = await context.signing.keys();
  const accessToken = tokenOf(keys, access);
  const isKnown = signedFilesOf(context, keys).knows(accessToken, access);
  if (!isKnown) await writeAccess(context, { keys, db: context.db, access });
  return accessToken;
}

/** The same in a transaction that writes the sandbox, which may be carried out again. Reads the keys first: that takes another connection. */
export async function accessWriter(
  context: Context,
): Promise<(transaction: Queries, access: Access) => Promise<void>> {
  const keys = await context.signing.keys();
  return (db, access) => writeAccess(context, { keys, db, access });
}

interface Given {
  readonly keys: SigningKeySet;
  readonly db: Queries;
  readonly access: Access;
}

async function writeAccess(context: Context, { keys, db, access }: Given): Promise<void> {
  const { sandboxId: sandbox_id, credentials } = access;
  const accessToken = tokenOf(keys, access);
  const { orgId: org_id, secretSha256: secret_sha256 } = credentials;
  await noteAccess(db, { sandbox_id, org_id, secret_sha256 }, digestOf(accessToken));
  signedFilesOf(context, keys).note(accessToken, access);
}

interface Known {
  readonly keys: SigningKeySet;
  readonly files: SignedFiles;
}

const known = new WeakMap<Context, Known>();

/** What is signed with access tokens that this process knows. With each change of keys it begins anew. */
export function signedFilesOf(context: Context, keys: SigningKeySet): SignedFiles {
  const found = known.get(context);
  if (found?.keys === keys) return found.files;
  const { visitorsPerMinute } = context.limits;
  const files = new SignedFiles(visitorsPerMinute, authFailuresOf(context), tokensOf(context, keys));
  known.set(context, { keys, files });
  return files;
}

/** What a transaction writes is seen when it ends, and has the time of its beginning. */
const UNSEEN_MS = 10_000;

/** Tokens are made anew from what is known of them, so no database holds one. */
function tokensOf({ db }: Context, keys: SigningKeySet): LoadTokens {
  let since = new Date(0);
  return async (bounds) => {
    const found = await accessesSince(db, { since, ...bounds });
    const newest = found.at(-1)?.noted_at.getTime() ?? 0;
    since = new Date(Math.max(since.getTime(), newest - UNSEEN_MS));
    return found.flatMap(({ sandbox_id: sandboxId, org_id: orgId, secret_sha256, tokens_sha256 }) => {
      const access = { sandboxId, credentials: { secretSha256: secret_sha256, orgId } };
      return keys
        .codes("e2b access", textOf(access))
        .map((code) => withCode(access, code))
        .filter((token) => tokens_sha256.some((digest) => digest.equals(digestOf(token))))
        .map((token) => [token, access] as const);
    });
  };
}

function tokenOf(keys: SigningKeySet, access: Access): string {
  return withCode(access, keys.sign("e2b access", textOf(access)));
}

function withCode({ credentials: { secretSha256, orgId } }: Access, code: Buffer): string {
  return `ea_${secretSha256}_${orgId}_${code.toString("base64url")}`;
}

function textOf({ sandboxId, credentials: { secretSha256, orgId } }: Access): string {
  return `${sandboxId}\n${orgId}\n${secretSha256}`;
}

function digestOf(accessToken: string): Buffer {
  return hash("sha256", accessToken, "buffer");
}

/** Clients show their users the sentence alone. */
function refused(): SkerryError {
  return new SkerryError(
    "unauthorized",
    "The access token is not valid for this sandbox, or not any more: its API token was revoked, or the server's signing key was changed. Connect to the sandbox again.",
  );
}
