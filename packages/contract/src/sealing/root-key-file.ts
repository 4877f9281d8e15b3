// The file with the keys that stand above all that is sealed in the database. It lies outside of the database, so that a copy of that alone
// opens nothing. Several keys are in it while one is changed for another.

import { createHash, randomBytes } from "node:crypto";

export interface RootKey {
  /** The first 8 bytes of its SHA-256, in hexadecimal digits: it names the key and tells nothing of it. */
  readonly id: string;
  /** 32 bytes. */
  readonly key: Buffer;
}

const KEY_BYTES = 32;
const KEYS_MAX = 16;
/** Of the file, in bytes. */
export const ROOT_KEY_FILE_MAX_BYTES = 4_096;

const HEAD =
  "# Root keys of Skerry: what the database keeps secret can be opened with them alone. Keep a copy elsewhere, and not beside backups.\n";

export function newRootKey(): RootKey {
  return rootKeyOf(randomBytes(KEY_BYTES));
}

export function formatRootKeys(keys: readonly RootKey[]): string {
  return HEAD + keys.map(({ key }) => `${key.toString("base64")}\n`).join("");
}

/** The message of the error says what is wrong, and repeats nothing of the file. */
export function parseRootKeys(text: string): readonly RootKey[] {
  const lines = text.split("\n").map((line) => line.trim());
  const keys = lines.filter((line) => line !== "" && !line.startsWith("#")).map(readKey);
  if (keys.length === 0) throw new Error("it has no key");
  if (keys.length > KEYS_MAX) throw new Error(`it has more than ${KEYS_MAX} keys`);
  return keys;
}

function readKey(line: string): RootKey {
  const key = Buffer.from(line, "base64");
  if (key.length !== KEY_BYTES || key.toString("base64") !== line)
    throw new Error(`a line is not the base64 of ${KEY_BYTES} bytes`);
  return rootKeyOf(key);
}

function rootKeyOf(key: Buffer): RootKey {
  return { id: createHash("sha256").update(key).digest("hex").slice(0, 16), key };
}
