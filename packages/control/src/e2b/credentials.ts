// Which of our tokens a request of E2B's clients is made with. They bring it in two ways:
//
//   X-API-Key        to the API: the token as it is (`sk_…`), or as `e2b_` and the hexadecimal digits of its characters. The clients let only the
//                    latter through, unless E2B_VALIDATE_API_KEY=false.
//   X-Access-Token   into a sandbox: what `accessTokenFor` has made for one sandbox, one organization and one token. It ends with each of them, and
//                    everything that it does is done by that token: its scopes, its limits, its name in the audit log.
//   signature        of a URL of a file, which its client made of such an access token.

import { createHmac, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { isId } from "@skerry/contract/ids";
import { authFailuresOf, organizationInHeader } from "../api/authenticate-hook.ts";
import { readCredentials, unauthorized, type Credentials } from "../auth/authenticate.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { sandboxIdIn } from "./sandbox-ids.ts";
import { accessesSince, noteAccess } from "./access-store.ts";
import { readSignature, SignedFiles, type LoadTokens } from "./file-signatures.ts";
import { signingKey } from "../vms/signed-urls/signing-key.ts";

export const KEY_PREFIX = "e2b_";

function secretOfKey(key: string | undefined): string | undefined {
  if (key === undefined || !/^e2b_(?:[0-9a-f]{2}){1,100}$/.test(key)) return key;
  return Buffer.from(key.slice(KEY_PREFIX.length), "hex").toString("latin1");
}

/** As the clients take it without being told not to look at it. */
export function keyOfSecret(secret: string): string {
  return KEY_PREFIX + Buffer.from(secret, "latin1").toString("hex");
}

/** Of our own token that the request is made with. */
export function secretOf({ headers }: FastifyRequest): string | undefined {
  const { "x-api-key": key, authorization } = headers;
  const [, bearer] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
  return secretOfKey(typeof key === "string" ? key : bearer);
}

/** Never a browser's session: no page calls here. */
export function apiCredentials(_context: Context, request: FastifyRequest): Credentials {
  return readCredentials(secretOf(request), organizationInHeader(request));
}

/** Of requests whose signature says it. */
const signedFor = new WeakMap<FastifyRequest, string>();

/** The sandbox that a call is for; undefined where the request names none. */
export function sandboxIdOf(request: FastifyRequest): string | undefined {
  const told = signedFor.get(request) ?? request.headers["e2b-sandbox-id"];
  const id = typeof told === "string" ? sandboxIdIn(told) : undefined;
  return id !== undefined && isId("sandbox", id) ? id : undefined;
}

export async function sandboxCredentials(context: Context, request: FastifyRequest): Promise<Credentials> {
  const accessToken = request.headers["x-access-token"];
  if (typeof accessToken !== "string") return apiCredentials(context, request);
  const id = sandboxIdOf(request);
  const [, secretSha256, orgId, code] =
    /^ea_([0-9a-f]{64})_(org_[0-9a-z]{26})_([A-Za-z0-9_-]{43})$/.exec(accessToken) ?? [];
  if (id === undefined || secretSha256 === undefined || orgId === undefined || code === undefined)
    throw unauthorized();
  const right = codeOf(await signingKey(context.db), id, { secretSha256, orgId });
  if (!timingSafeEqual(Buffer.from(code, "base64url"), right)) throw unauthorized();
  return { secretSha256, orgId };
}

const filesOf = new WeakMap<Context, SignedFiles>();

function signedFilesOf(context: Context): SignedFiles {
  const { limits } = context;
  const known =
    filesOf.get(context) ??
    new SignedFiles(limits.visitorsPerMinute, authFailuresOf(context), tokensOf(context));
  filesOf.set(context, known);
  return known;
}

/** What a transaction writes is seen when it ends, and has the time of its beginning. */
const UNSEEN_MS = 10_000;

/** Tokens are made anew from what is known of them, so no database holds one. */
function tokensOf({ db }: Context): LoadTokens {
  let since = new Date(0);
  return async (bounds) => {
    const found = await accessesSince(db, { since, ...bounds });
    const newest = found.at(-1)?.noted_at.getTime() ?? 0;
    since = new Date(Math.max(since.getTime(), newest - UNSEEN_MS));
    const key = await signingKey(db);
    return found.map(({ sandbox_id: sandboxId, org_id: orgId, secret_sha256: secretSha256 }) => {
      const credentials = { secretSha256, orgId };
      return [tokenOf(key, sandboxId, credentials), { sandboxId, credentials }] as const;
    });
  };
}

/** Of a request for a file: its URL may be signed in the place of a token. */
export async function fileCredentials(context: Context, request: FastifyRequest): Promise<Credentials> {
  const { "x-access-token": accessToken, "x-api-key": key, authorization = "" } = request.headers;
  if (accessToken !== undefined || key !== undefined || /^Bearer /i.test(authorization))
    return sandboxCredentials(context, request);
  const asked = readSignature(request);
  const found = await signedFilesOf(context).find({
    ...asked,
    sandboxId: sandboxIdOf(request),
    address: request.ip,
  });
  signedFor.set(request, found.sandboxId);
  return found.credentials;
}

interface Accessed {
  readonly id: string;
  readonly orgId: string;
}

/** For calls into this sandbox, of the caller who has made the request. */
export async function accessTokenFor(
  context: Context,
  request: FastifyRequest,
  sandbox: Accessed,
): Promise<string> {
  return giveAccess(context, context.db, { request, sandbox });
}

/** Notes the caller's access to a new sandbox in the transaction that writes its row, which saves a transaction before the answer. */
export async function accessNoter(
  context: Context,
  request: FastifyRequest,
  orgId: string,
): Promise<(transaction: Queries, id: string) => Promise<void>> {
  // Read before the transaction begins: it takes another connection the first time.
  await signingKey(context.db);
  return async (transaction, id) =>
    void (await giveAccess(context, transaction, { request, sandbox: { id, orgId } }));
}

async function giveAccess(
  context: Context,
  db: Queries,
  { request, sandbox: { id, orgId } }: { readonly request: FastifyRequest; readonly sandbox: Accessed },
): Promise<string> {
  const { secretSha256 } = apiCredentials(context, request);
  const credentials = { secretSha256, orgId };
  const accessToken = tokenOf(await signingKey(context.db), id, credentials);
  const isNew = signedFilesOf(context).note(accessToken, { sandboxId: id, credentials });
  if (isNew) await noteAccess(db, { sandbox_id: id, org_id: orgId, secret_sha256: secretSha256 });
  return accessToken;
}

interface Signer {
  readonly secretSha256: string;
  readonly orgId: string;
}

function tokenOf(key: Buffer, id: string, signer: Signer): string {
  return `ea_${signer.secretSha256}_${signer.orgId}_${codeOf(key, id, signer).toString("base64url")}`;
}

/** No text that is signed for another purpose with this key begins like it. */
function codeOf(key: Buffer, id: string, { secretSha256, orgId }: Signer): Buffer {
  return createHmac("sha256", key).update(`e2b access\n${id}\n${orgId}\n${secretSha256}`).digest();
}
