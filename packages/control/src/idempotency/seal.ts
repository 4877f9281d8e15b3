// Answers that only the token of their request can read again. The key comes from the token's secret, of which the database has
// no more than a hash: who reads the ledger learns nothing from it.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const CIPHER = "aes-256-gcm";
const SALT_BYTES = 16;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const PURPOSE = "skerry idempotency answer";

/** `label` says what the text belongs to; it opens only under the same one. */
export function seal(secret: string, label: string, text: string): Buffer {
  const salt = randomBytes(SALT_BYTES);
  const { key, nonce } = derive(secret, salt);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(label));
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([salt, cipher.getAuthTag(), sealed]);
}

/** Throws where it was sealed with another secret, for another label, or was changed. */
export function open(secret: string, label: string, sealed: Buffer): string {
  const { key, nonce } = derive(secret, sealed.subarray(0, SALT_BYTES));
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(label))
    .setAuthTag(sealed.subarray(SALT_BYTES, SALT_BYTES + TAG_BYTES));
  const opened = [decipher.update(sealed.subarray(SALT_BYTES + TAG_BYTES)), decipher.final()];
  return Buffer.concat(opened).toString("utf8");
}

/** A fresh salt makes a fresh key, so a nonce is never used twice under one. */
function derive(secret: string, salt: Uint8Array): { key: Buffer; nonce: Buffer } {
  const bytes = Buffer.from(hkdfSync("sha256", secret, salt, PURPOSE, KEY_BYTES + NONCE_BYTES));
  return { key: bytes.subarray(0, KEY_BYTES), nonce: bytes.subarray(KEY_BYTES) };
}
