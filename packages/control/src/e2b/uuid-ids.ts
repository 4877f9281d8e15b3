// Our ids as UUIDs, and back: E2B's clients in Python read ids of builds and of API keys as UUIDs alone. The 26 characters of an id are 130 bits, of
// which the first two are always zero.

import { idKinds, isId, type IdKind } from "@skerry/contract/ids";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const ID_CHARS = 26;
const UUID_DIGITS = 32;

export function uuidOf(id: string): string {
  let bits = 0n;
  for (const char of id.slice(id.indexOf("_") + 1)) bits = bits * 32n + BigInt(ALPHABET.indexOf(char));
  const digits = bits.toString(16).padStart(UUID_DIGITS, "0").slice(-UUID_DIGITS);
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The id of this kind; one of ours is taken as it is. What is none stays what it is, and is found nowhere. */
export function idOfUuid(kind: IdKind, uuid: string): string {
  if (isId(kind, uuid) || !/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(uuid)) return uuid;
  let bits = BigInt(`0x${uuid.replaceAll("-", "")}`);
  let text = "";
  for (let chars = 0; chars < ID_CHARS; chars++, bits /= 32n)
    text = ALPHABET.charAt(Number(bits % 32n)) + text;
  return `${idKinds[kind]}_${text}`;
}
