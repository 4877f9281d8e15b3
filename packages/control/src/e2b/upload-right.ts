// The right to send one archive, which a URL carries: E2B's clients send no token there.

import { createHmac, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { SkerryError } from "@skerry/contract/errors";
import type { Credentials } from "../auth/authenticate.ts";
import type { Context } from "../context.ts";
import { signingKey } from "../vms/signed-urls/signing-key.ts";

export interface UploadRight {
  readonly credentials: Credentials & { readonly orgId: string };
  readonly hash: string;
  readonly expiresAtS: number;
}

const textOf = ({ credentials: { secretSha256, orgId }, hash, expiresAtS }: UploadRight): string =>
  `e2b upload\n${orgId}\n${secretSha256}\n${hash}\n${expiresAtS}`;

function codeOf(key: Buffer, right: UploadRight): Buffer {
  return createHmac("sha256", key).update(textOf(right)).digest();
}

/** What the URL says beside the right. */
export async function signUploadRight(context: Context, right: UploadRight): Promise<string> {
  return codeOf(await signingKey(context.db), right).toString("base64url");
}

/** The right that a URL carries. Throws where it has none. */
export async function uploadRightOf(
  context: Context,
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
  const isRight = timingSafeEqual(
    Buffer.from(String(code), "base64url"),
    codeOf(await signingKey(context.db), right),
  );
  if (!isRight || right.expiresAtS < Date.now() / 1_000) throw refused();
  return right;
}

function refused(): SkerryError {
  return new SkerryError("unauthorized", "The URL is no valid upload link, or has expired.");
}
