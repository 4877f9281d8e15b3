// The token that lets one machine join as a host: its id, its secret, and the fingerprint of the authority that must have signed the answer.

import { createHash, X509Certificate } from "node:crypto";
import { Type, type Static } from "typebox";
import { certificatesIn } from "./host-certificate.ts";
import { exampleDigest, exampleIds } from "../example-ids.ts";
import { Timestamp } from "../fields.ts";
import { idPattern } from "../ids.ts";
import { named } from "../named.ts";

export const JoinToken = named(
  "JoinToken",
  {
    id: Type.String({ pattern: idPattern("join") }),
    token: Type.String({
      description: "For `skerry host join`, once. It is in this answer and nowhere else.",
    }),
    expires_at: Timestamp,
  },
  {
    id: exampleIds.joinToken,
    token: `${exampleIds.joinToken}.${exampleDigest}.${exampleDigest}`,
    expires_at: "2026-11-20T17:21:09.123Z",
  },
);
export type JoinToken = Static<typeof JoinToken>;

/** A token for a new host, taken apart. */
export interface JoinTokenParts {
  readonly id: string;
  readonly secret: string;
  /** Of the authority. */
  readonly fingerprint: string;
}

const TOKEN = new RegExp(`^(${idPattern("join").slice(1, -1)})\\.([A-Za-z0-9_-]{43})\\.([A-Za-z0-9_-]{43})$`);

export function joinTokenText({ id, secret, fingerprint }: JoinTokenParts): string {
  return `${id}.${secret}.${fingerprint}`;
}

/** Undefined where it cannot be a token. */
export function readJoinToken(text: string): JoinTokenParts | undefined {
  const [, id, secret, fingerprint] = TOKEN.exec(text.trim()) ?? [];
  return id === undefined || secret === undefined || fingerprint === undefined
    ? undefined
    : { id, secret, fingerprint };
}

/** SHA-256 of the authority's public key, as base64url. Throws where the text holds more than that one authority: a host trusts all that
 *  it is given, and nothing would vouch for the others. */
export function fingerprintOf(authorityPem: string): string {
  const [pem = "", ...others] = certificatesIn(authorityPem);
  if (others.length > 0) throw new Error("this is more than one authority");
  const { publicKey } = new X509Certificate(pem);
  const key = publicKey.export({ type: "spki", format: "der" });
  return createHash("sha256").update(key).digest("base64url");
}

/** What control stores of a token, and what proofs are made with. */
export function secretDigest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
