// How a machine becomes a host. Its operator gets a token, whose secret the machine never sends: it proves that it has it. So an
// eavesdropper can neither use it nor change what is asked, and the token names the authority that must have signed the answer.

import { createHmac } from "node:crypto";
import { Type, type Static } from "typebox";
import { named } from "../named.ts";
import { exampleDigest, exampleIds, examplePem } from "../example-ids.ts";
import { CertificateRequest, HOST_NAME, HostCertificate } from "./host-certificate.ts";
import { idPattern } from "../ids.ts";

const TokenId = Type.String({ pattern: idPattern("join") });
const Proof = Type.String({
  pattern: "^[A-Za-z0-9_-]{43}$",
  description: "HMAC-SHA-256 of what is asked, by the token's secret; base64url.",
});

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
