// How a machine becomes a host. Its operator gets a token, whose secret the machine never sends: it proves that it has it. So whoever
// listens on the way can neither use it nor change what is asked, and the token names the authority that must have signed the answer.

import { createHash, createHmac, X509Certificate } from "node:crypto";
import { Type, type Static } from "typebox";
import { named, Timestamp } from "./common.ts";
import { exampleDigest, exampleIds, examplePem } from "./example-ids.ts";
import { certificatesIn, CertificateRequest, HOST_NAME, HostCertificate } from "./host-identity.ts";
import { idPattern } from "./ids.ts";

const TokenId = Type.String({ pattern: idPattern("join") });
const Proof = Type.String({
  pattern: "^[A-Za-z0-9_-]{43}$",
  description: "HMAC-SHA-256 of what is asked, by the token's secret; base64url.",
});

export const JoinToken = named(
  "JoinToken",
  {
    id: TokenId,
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

export const JoinRequest = named(
  "JoinRequest",
  {
    token_id: TokenId,
    name: Type.String({ pattern: HOST_NAME.source, description: "No other host has it." }),
    address: Type.String({
      pattern: "^(\\[[0-9a-fA-F:.]{2,45}\\]|[A-Za-z0-9.-]{1,253}):[0-9]{1,5}$",
      description: "Where control reaches the host: ADDRESS:PORT.",
    }),
    ...CertificateRequest.properties,
    proof: Proof,
  },
  {
    token_id: exampleIds.joinToken,
    name: "rack-7",
    address: "192.0.2.7:7071",
    public_key: examplePem("PUBLIC KEY"),
    signature: "MEUCIQ…",
    proof: exampleDigest,
  },
);
export type JoinRequest = Static<typeof JoinRequest>;

export const JoinAnswer = named("JoinAnswer", HostCertificate.properties, {
  host_id: exampleIds.host,
  certificate: examplePem("CERTIFICATE"),
  authority: examplePem("CERTIFICATE"),
});
export type JoinAnswer = Static<typeof JoinAnswer>;

export const JoinConfirmation = named(
  "JoinConfirmation",
  { token_id: TokenId, host_id: Type.String({ pattern: idPattern("host") }), proof: Proof },
  { token_id: exampleIds.joinToken, host_id: exampleIds.host, proof: exampleDigest },
);
export type JoinConfirmation = Static<typeof JoinConfirmation>;

export const HostJoined = named(
  "HostJoined",
  { host_id: Type.String(), name: Type.String() },
  { host_id: exampleIds.host, name: "rack-7" },
);
export type HostJoined = Static<typeof HostJoined>;

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

export function joinProof(digest: Buffer, asked: Omit<JoinRequest, "proof" | "signature">): string {
  return proofOf(digest, ["join", asked.token_id, asked.name, asked.address, asked.public_key]);
}

export function confirmationProof(digest: Buffer, asked: Omit<JoinConfirmation, "proof">): string {
  return proofOf(digest, ["confirm", asked.token_id, asked.host_id]);
}

/** As JSON, so that no two requests have the same text. */
function proofOf(digest: Buffer, parts: readonly string[]): string {
  return createHmac("sha256", digest).update(JSON.stringify(parts)).digest("base64url");
}
