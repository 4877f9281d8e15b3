// The right to send one archive, which a URL carries: E2B's clients send no token there.

import type { FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import type { Context } from "../context.ts";
import type { Credentials } from "../auth/credentials.ts";

export interface UploadRight {
  readonly credentials: Credentials & { readonly orgId: string };
  readonly hash: string;
  readonly expiresAtS: number;
}

const textOf = ({ credentials: { secretSha256, orgId }, hash, expiresAtS }: UploadRight): string =>
  `${orgId}\n${secretSha256}\n${hash}\n${expiresAtS}`;

/** What the URL says beside the right. */
export async function signUploadRight({ signing }: Context, right: UploadRight): Promise<string> {
  return (await signing.keys()).sign("e2b upload", textOf(right)).toString("base64url");
}

/** The right that a URL carries. Throws where it has none. */
export async function uploadRightOf(
  { signing }: Context,
  { query, params }: FastifyRequest,
): Promise<UploadRight> {
  const { org, token, expires, code } = query as Record<string, unknown>;
  const { hash } = params as { readonly hash: string };
  const texts = [org, token, expires, code];
  const isWhole = texts.every((one) => typeof one === "string");
  if (!isWhole || !/^[A-Za-z0-9_-]{43}$/.test(String(code)) || !/^\d{1,12}$/.test(String(expires)))
    throw refused();
  const right = {
    credentials: { secretSha256: String(token), orgId: String(org) },
    hash,
    expiresAtS: Number(expires),
  };
  const keys = await signing.keys();
  const isRight = keys.isSigned("e2b upload", textOf(right), Buffer.from(String(code), "base64url"));
  if (!isRight || right.expiresAtS < Date.now() / 1_000) throw refused();
  return right;
}

function refused(): SkerryError {
  return new SkerryError("unauthorized", "The URL is no valid upload link, or has expired.");
}
