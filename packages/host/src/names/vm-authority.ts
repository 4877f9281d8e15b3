// The authority of one VM: stands for servers where its requests get secrets on their way. It is made anew
// from the same seed wherever it is needed, and no disk has its key.

import { createECDH, createPrivateKey, createPublicKey, generateKeyPairSync, hkdfSync } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import {
  authorityCertificate,
  CURVE,
  leafCertificate,
  type KeyPair,
} from "@skerry/contract/certificates/x509";
import type { Injection } from "@skerry/contract/vms/inject";

/** A guest that goes on after years still trusts it. */
const AUTHORITY_UNTIL = new Date("2075-01-01T00:00:00Z");
const LEAF_LIFETIME_MS = 30 * 24 * 3_600_000;
/** A certificate that is about to end is made anew. */
const LEAF_RENEWED_MS = 7 * 24 * 3_600_000;
/** Names that certificates are kept for; then the one that was asked for longest ago is forgotten. */
const LEAVES_MAX = 16;
const KEY_BYTES = 32;
/** Common names end here (RFC 5280, ub-common-name). */
const COMMON_NAME_MAX_CHARS = 64;

type Seed = Pick<Injection, "vm" | "seed">;

/** PEM of the certificate that the guest trusts. */
export function authorityOf({ vm, seed }: Seed): string {
  return authorityCertificate(keyPairOf(seed), { name: nameOf(vm), until: AUTHORITY_UNTIL });
}

const nameOf = (vm: string): string => `Skerry egress of ${vm}`;

/** Nearly every 32 bytes are a key of the curve; of the others the next ones are taken. */
function keyPairOf(seed: string): KeyPair {
  for (let attempt = 0; ; attempt += 1) {
    const bytes = Buffer.from(hkdfSync("sha256", Buffer.from(seed, "hex"), "", `key ${attempt}`, KEY_BYTES));
    const curve = createECDH(CURVE);
    try {
      curve.setPrivateKey(bytes);
    } catch {
      continue;
    }
    const point = curve.getPublicKey();
    const coordinate = (at: number): string =>
      point.subarray(1 + at * KEY_BYTES, 1 + (at + 1) * KEY_BYTES).toString("base64url");
    const key = {
      kty: "EC",
      crv: "P-256",
      d: bytes.toString("base64url"),
      x: coordinate(0),
      y: coordinate(1),
    };
    const privateKey = createPrivateKey({ key, format: "jwk" });
    return { privateKey, publicKey: createPublicKey(privateKey) };
  }
}

interface Kept {
  readonly context: SecureContext;
  readonly madeMs: number;
}

export class VmAuthority {
  readonly seed: string;
  readonly #name: string;
  readonly #pair: KeyPair;
  /** One key for all names: the authority signs for all of them, so more keys would separate nothing. */
  readonly #leaf = generateKeyPairSync("ec", { namedCurve: CURVE });
  readonly #contexts = new Map<string, Kept>();

  constructor({ vm, seed }: Seed) {
    this.seed = seed;
    this.#name = nameOf(vm);
    this.#pair = keyPairOf(seed);
  }

  /** Key and certificate for connections to this name. */
  contextOf(name: string): SecureContext {
    const kept = this.#contexts.get(name);
    this.#contexts.delete(name);
    const now = Date.now();
    const isFresh = kept !== undefined && now - kept.madeMs < LEAF_RENEWED_MS;
    const next = isFresh ? kept : { context: this.#make(name, now), madeMs: now };
    this.#contexts.set(name, next);
    const [oldest] = this.#contexts.keys();
    if (this.#contexts.size > LEAVES_MAX && oldest !== undefined) this.#contexts.delete(oldest);
    return next.context;
  }

  #make(name: string, now: number): SecureContext {
    const cert = leafCertificate(this.#pair, {
      issuer: this.#name,
      subject: name.slice(0, COMMON_NAME_MAX_CHARS),
      name: { dns: name },
      publicKey: this.#leaf.publicKey,
      purposes: ["server"],
      until: new Date(now + LEAF_LIFETIME_MS),
    });
    const key = this.#leaf.privateKey.export({ type: "pkcs8", format: "pem" });
    // Without `ca` it would hold a copy of all common authorities. Guests show no certificate to check by them.
    return createSecureContext({ key, cert, ca: [], minVersion: "TLSv1.2" });
  }
}
