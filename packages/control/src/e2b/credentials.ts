// Which of our tokens a request of E2B's clients is made with. They bring it in two ways:
//
//   X-API-Key        to the API: the token as it is (`sk_…`), or as `e2b_` and the hexadecimal digits of its characters. The clients let only the
//                    latter through, unless E2B_VALIDATE_API_KEY=false.
//   X-Access-Token   into a sandbox: what `accessTokenFor` has given away for one sandbox, one organization and one token. It ends with each of them,
//                    and everything that it does is done by that token: its scopes, its limits, its name in the audit log.
//   signature        of a URL of a file, which its client made of such an access token.

import type { FastifyRequest } from "fastify";
import { isId } from "@skerry/contract/ids";
import { organizationInHeader } from "../api/authenticate-hook.ts";
import { readCredentials, unauthorized } from "../auth/authenticate.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/database.ts";
import { sandboxIdIn } from "./sandbox-ids.ts";
import { accessBy, accessWriter, giveAccess, signedFilesOf } from "./access-tokens.ts";
import { readSignature } from "./file-signatures.ts";
import type { Access } from "./noted-tokens.ts";
import type { Credentials } from "../auth/credentials.ts";

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
  if (id === undefined) throw unauthorized();
  return (await accessBy(context, id, accessToken)).credentials;
}

/** Of a request for a file: its URL may be signed in the place of a token. */
export async function fileCredentials(context: Context, request: FastifyRequest): Promise<Credentials> {
  const { "x-access-token": accessToken, "x-api-key": key, authorization = "" } = request.headers;
  if (accessToken !== undefined || key !== undefined || /^Bearer /i.test(authorization))
    return sandboxCredentials(context, request);
  const asked = readSignature(request);
  const found = await signedFilesOf(context, await context.signing.keys()).find({
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
  return giveAccess(context, accessOf(context, request, sandbox));
}

/** Notes the caller's access to a new sandbox in the transaction that writes its row, which saves a transaction before the answer. */
export async function accessNoter(
  context: Context,
  request: FastifyRequest,
  orgId: string,
): Promise<(transaction: Queries, id: string) => Promise<void>> {
  const write = await accessWriter(context);
  return (transaction, id) => write(transaction, accessOf(context, request, { id, orgId }));
}

function accessOf(context: Context, request: FastifyRequest, { id, orgId }: Accessed): Access {
  const { secretSha256 } = apiCredentials(context, request);
  return { sandboxId: id, credentials: { secretSha256, orgId } };
}
