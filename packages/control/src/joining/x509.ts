// Certificates of the cluster's authority, one name each, and the keys of those who ask for them.

import { createPublicKey, generateKeyPairSync, verify, type KeyObject } from "node:crypto";
import {
  authorityCertificate,
  CURVE,
  leafCertificate,
  type KeyPair,
  type Purpose,
} from "@skerry/contract/certificates/x509";
import { SkerryError } from "@skerry/contract/errors";
import { CERTIFICATE_REQUEST, type CertificateRequest } from "@skerry/contract/joining/host-certificate";

export interface Certified {
  /** PEM. */
  readonly certificate: string;
  /** PEM (PKCS#8). */
  readonly privateKey: string;
}

export interface Leaf {
  /** The one name of its holder. */
  readonly uri: string;
  readonly publicKey: KeyObject;
  readonly purposes: readonly Purpose[];
  readonly lifetimeMs: number;
}

const AUTHORITY_NAME = "Skerry authority";
const AUTHORITY_LIFETIME_MS = 20 * 365 * 24 * 3_600_000;

/** A new authority. */
export function makeAuthority(): Certified {
  const pair = newKeyPair();
  const until = new Date(Date.now() + AUTHORITY_LIFETIME_MS);
  const certificate = authorityCertificate(pair, { name: AUTHORITY_NAME, until });
  return { certificate, privateKey: pemOf(pair.privateKey) };
}

/** PEM of a certificate for this name and key. */
export function certify(authority: KeyPair, { uri, publicKey, purposes, lifetimeMs }: Leaf): string {
  return leafCertificate(authority, {
    ...{ issuer: AUTHORITY_NAME, subject: uri, name: { uri }, publicKey, purposes },
    until: new Date(Date.now() + lifetimeMs),
  });
}

export function newKeyPair(): KeyPair {
  return generateKeyPairSync("ec", { namedCurve: CURVE });
}

export function pemOf(privateKey: KeyObject): string {
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/** The key of a request whose sender has shown that it has the private one. */
export function requestedKey({ public_key, signature }: CertificateRequest): KeyObject {
  const key = readKey(public_key);
  if (key?.asymmetricKeyType !== "ec" || key.asymmetricKeyDetails?.namedCurve !== CURVE)
    throw refused("`public_key` is not a public key of the curve P-256.");
  const asked = Buffer.from(CERTIFICATE_REQUEST + public_key);
  if (!verify("sha256", asked, key, Buffer.from(signature, "base64")))
    throw refused("`signature` is not by the private key of `public_key`.");
  return key;
}

function readKey(pem: string): KeyObject | undefined {
  // Node would also take a private key, which must not be sent.
  if (!pem.startsWith("-----BEGIN PUBLIC KEY-----")) return undefined;
  try {
    return createPublicKey(pem);
  } catch {
    return undefined;
  }
}

function refused(message: string): SkerryError {
  return new SkerryError("bad_request", message);
}
