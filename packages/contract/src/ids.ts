// Ids carry their kind and sort by time: `sbx_` + 26 characters of Crockford base32 (48 bits of
// milliseconds, 80 bits of randomness), the layout of a ULID in lower case.

/** Resources that calls name by id. Where there is none, they answer `KIND_not_found`. */
export const resourceIds = {
  sandbox: "sbx",
  machine: "mch",
  token: "tok",
  organization: "org",
  user: "usr",
  template: "tpl",
  host: "hst",
  snapshot: "snp",
  build: "bld",
  /** A command that runs in a VM. */
  execution: "exe",
  move: "mov",
  app: "app",
  /** A way from one release of an app to another. */
  deploy: "dpl",
  route: "rte",
} as const;

export const idKinds = {
  ...resourceIds,
  /** A VM from one start to its end. */
  incarnation: "inc",
  attempt: "att",
  request: "req",
  audit: "aud",
  /** In the life of a VM. */
  event: "evt",
  join: "jtk",
  signingKey: "sgk",
} as const;

export type IdKind = keyof typeof idKinds;

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const TIME_CHARS = 10;
const RANDOM_CHARS = 16;

/** A new id of this kind, for example `sbx_01kb3x0q9vt5c7r2m8n4p6w1yz`. `now` is in milliseconds since 1970. */
export function newId(kind: IdKind, now: number = Date.now()): string {
  return `${idKinds[kind]}_${timeText(now)}${randomText()}`;
}

/** What follows its kind: for names of hosts, where some programs take no underscore. */
export function bareId(id: string): string {
  return id.slice(id.indexOf("_") + 1);
}

/** When this id was made, in milliseconds since 1970, as far as it is one. */
export function timeOfId(id: string): number {
  let ms = 0;
  for (const char of bareId(id).slice(0, TIME_CHARS)) ms = ms * 32 + Math.max(0, ALPHABET.indexOf(char));
  return ms;
}

/** A new id of this kind that sorts after `id`, also where a clock was behind when it is made, or ahead when that one was. */
export function newIdAfter(kind: IdKind, id: string, now: number = Date.now()): string {
  const next = newId(kind, now);
  return next > id ? next : newId(kind, timeOfId(id) + 1);
}

/** The least id of this kind that can be made at this time, in milliseconds since 1970. */
export function firstIdAt(kind: IdKind, timeMs: number): string {
  return `${idKinds[kind]}_${timeText(Math.max(0, timeMs))}${ALPHABET.charAt(0).repeat(RANDOM_CHARS)}`;
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

const shapes = new Map<IdKind, RegExp>();

/** Whether this is an id of this kind, as far as its shape tells. One of another shape is nothing's id. */
export function isId(kind: IdKind, text: string): boolean {
  let shape = shapes.get(kind);
  if (shape === undefined) shapes.set(kind, (shape = new RegExp(idPattern(kind))));
  return shape.test(text);
}

/** By its prefix alone: for ids that are known to be ids. */
export function kindOf(id: string): IdKind | undefined {
  const prefix = id.slice(0, id.indexOf("_"));
  return (Object.keys(idKinds) as IdKind[]).find((kind) => idKinds[kind] === prefix);
}

/** 26 characters hold 130 bits; the value is 128, so the first character is 0 to 7. */
function base32(bits: bigint): string {
  let text = "";
  for (let shift = 125n; shift >= 0n; shift -= 5n) text += ALPHABET[Number((bits >> shift) & 31n)];
  return text;
}

/** The time fills ten characters and randomness the other sixteen, so neither needs big numbers: each request takes an id. */
function timeText(now: number): string {
  let text = "";
  for (let rest = now, at = 0; at < TIME_CHARS; at += 1) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Asking the system for each id apart took longer than all else that an id needs. */
const pool = new Uint8Array(RANDOM_CHARS * 256);
let used = pool.length;

function randomText(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  let text = "";
  for (const end = used + RANDOM_CHARS; used < end; used += 1)
    text += ALPHABET.charAt((pool[used] ?? 0) & 31);
  return text;
}
