// Whether a backup was made by this installation: a MAC over its manifest, which has the digests of all its parts, under a key that follows from
// a root key. It tells an operator what a file is. Nothing that a restore does relies on it: a stolen root key must not make a backup a program.

import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { RootKey } from "@skerry/contract/sealing/root-key-file";

const INFO = "skerry backup manifest";
const MAC_BYTES = 32;
const ID = /^[0-9a-f]{16}$/;
const MAC = /^[0-9a-f]{64}$/;

/** As it stands in a backup. */
export function macOf(manifest: Uint8Array, { id, key }: RootKey): string {
  return `${digestOf(manifest, key).toString("hex")}  ${id}\n`;
}

/** A sentence about why the backup is not known to be of this installation; undefined where it is. */
export function whyUnverified(
  manifest: Uint8Array,
  mac: string | undefined,
  keys: readonly RootKey[],
): string | undefined {
  const [digest = "", id = ""] = (mac ?? "").trimEnd().split("  ");
  if (mac === undefined) return "It has no signature of an installation, as backups of earlier versions.";
  if (!MAC.test(digest) || !ID.test(id)) return "Its signature cannot be read.";
  const found = keys.find((key) => key.id === id);
  if (found === undefined) return `It was signed with the root key ${id}, which is not here.`;
  if (timingSafeEqual(digestOf(manifest, found.key), Buffer.from(digest, "hex"))) return undefined;
  return `Its signature does not fit: it was changed, or not made by the installation with the root key ${id}.`;
}

function digestOf(manifest: Uint8Array, key: Buffer): Buffer {
  const derived = Buffer.from(hkdfSync("sha256", key, "", INFO, MAC_BYTES));
  return createHmac("sha256", derived).update(manifest).digest();
}
