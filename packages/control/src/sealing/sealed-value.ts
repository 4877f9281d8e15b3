// What is sealed in the database, and under which key: AES-256-GCM throughout. A root key seals data keys, one for each owner; a data key seals
// values, each under a key and a nonce derived from it and from a salt that is new for each write. What a value is for is authenticated
// with it, so a row that someone has moved, or a value of another owner, does not open. Pure.

import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from "node:crypto";
import type { RootKey } from "@skerry/contract/sealing/root-key-file";

/** What a value is for. The same value opens for nothing else. */
export interface SealedFor {
  /** An organization's id, or "cluster". */
  readonly owner: string;
  /** The kind of thing, such as `registry-credential`. */
  readonly scope: string;
  readonly name: string;
  readonly version: number;
}

export interface DataKey {
  readonly id: string;
  /** 32 bytes. */
  readonly key: Buffer;
}

const CIPHER = "aes-256-gcm";
const FORMAT = 1;
const KEY_BYTES = 32;
const SALT_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const INFO = "skerry sealed value";
const DIGEST_INFO = "skerry digest of a value";
const DIGEST_BYTES = 8;

export function newDataKey(): DataKey {
  return dataKeyOf(randomBytes(KEY_BYTES));
}

/** Format, nonce, sealed key, tag. */
export function wrapDataKey(root: RootKey, owner: string, { key }: DataKey): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const secret = { key: root.key, nonce };
  return Buffer.concat([Buffer.of(FORMAT), nonce, encrypt(secret, ["data key", owner, root.id], key)]);
}

/** Throws where it was sealed by another root key, for another owner, or has changed. */
export function unwrapDataKey(root: RootKey, owner: string, wrapped: Buffer): DataKey {
  requireFormat(wrapped, 1 + NONCE_BYTES + KEY_BYTES + TAG_BYTES);
  const secret = { key: root.key, nonce: wrapped.subarray(1, 1 + NONCE_BYTES) };
  const key = decrypt(secret, ["data key", owner, root.id], wrapped.subarray(1 + NONCE_BYTES));
  return dataKeyOf(key);
}

/** Format, salt, sealed value, tag. */
export function sealValue(dataKey: DataKey, about: SealedFor, value: Buffer): Buffer {
  const salt = randomBytes(SALT_BYTES);
  return Buffer.concat([
    Buffer.of(FORMAT),
    salt,
    encrypt(derive(dataKey, salt), partsOf(about, dataKey), value),
  ]);
}

/** Throws where it was sealed under another key or for something else, or has changed. */
export function openValue(dataKey: DataKey, about: SealedFor, sealed: Buffer): Buffer {
  requireFormat(sealed, 1 + SALT_BYTES + TAG_BYTES);
  const salt = sealed.subarray(1, 1 + SALT_BYTES);
  return decrypt(derive(dataKey, salt), partsOf(about, dataKey), sealed.subarray(1 + SALT_BYTES));
}

/**
 * The beginning of an HMAC of a value. Values are short at times: without the key, as of a plain hash, they
 * could be guessed.
 */
export function digestOf({ key }: DataKey, value: Buffer): Buffer {
  const derived = Buffer.from(hkdfSync("sha256", key, "", DIGEST_INFO, KEY_BYTES));
  return createHmac("sha256", derived).update(value).digest().subarray(0, DIGEST_BYTES);
}

/** 32 bytes that are the same for the same purpose, and tell nothing of the key. */
export function derivedFrom({ key }: DataKey, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", key, "", `skerry derived key: ${purpose}`, KEY_BYTES));
}

interface Secret {
  readonly key: Buffer;
  readonly nonce: Buffer;
}

function derive({ key }: DataKey, salt: Buffer): Secret {
  const derived = Buffer.from(hkdfSync("sha256", key, salt, INFO, KEY_BYTES + NONCE_BYTES));
  return { key: derived.subarray(0, KEY_BYTES), nonce: derived.subarray(KEY_BYTES) };
}

function partsOf({ owner, scope, name, version }: SealedFor, { id }: DataKey): readonly unknown[] {
  return ["value", owner, scope, name, version, id];
}

// JSON keeps apart what a mere concatenation would run together.
function encrypt({ key, nonce }: Secret, about: readonly unknown[], plain: Buffer): Buffer {
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(JSON.stringify(about)));
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function decrypt({ key, nonce }: Secret, about: readonly unknown[], sealed: Buffer): Buffer {
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(JSON.stringify(about)));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
}

function requireFormat(sealed: Buffer, bytes: number): void {
  if (sealed[0] !== FORMAT) throw new Error("it was not sealed by this version");
  if (sealed.length < bytes) throw new Error("it is cut off");
}

function dataKeyOf(key: Buffer): DataKey {
  return { id: createHash("sha256").update(key).digest("hex").slice(0, 16), key };
}
