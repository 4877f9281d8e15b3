// Ids carry their kind and sort by time: `sbx_` + 26 characters of Crockford base32 (48 bits of
// milliseconds, 80 bits of randomness), the layout of a ULID in lower case.

export const idKinds = {
  sandbox: "sbx",
  host: "hst",
  organization: "org",
  user: "usr",
  token: "tok",
  template: "tpl",
  execution: "exe",
  request: "req",
} as const;

export type IdKind = keyof typeof idKinds;

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** A new id of this kind, for example `sbx_01kb3x0q9vt5c7r2m8n4p6w1yz`. `now` is in milliseconds since 1970. */
export function newId(kind: IdKind, now: number = Date.now()): string {
  const random = crypto.getRandomValues(new Uint8Array(10));
  let bits = BigInt(now);
  for (const byte of random) bits = (bits << 8n) | BigInt(byte);
  return `${idKinds[kind]}_${base32(bits)}`;
}

/** An id that the same content always gets: for things that are files, such as templates. */
export function idOfDigest(kind: IdKind, digest: Uint8Array): string {
  let bits = 0n;
  for (const byte of digest.subarray(0, 16)) bits = (bits << 8n) | BigInt(byte);
  return `${idKinds[kind]}_${base32(bits)}`;
}

/** A regular expression source that ids of this kind match. */
export function idPattern(kind: IdKind): string {
  return `^${idKinds[kind]}_[${ALPHABET}]{26}$`;
}

/** 26 characters hold 130 bits; the value is 128, so the first character is 0 to 7. */
function base32(bits: bigint): string {
  let text = "";
  for (let shift = 125n; shift >= 0n; shift -= 5n) text += ALPHABET[Number((bits >> shift) & 31n)];
  return text;
}
