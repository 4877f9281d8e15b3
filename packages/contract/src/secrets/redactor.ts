// Replaces values of secrets in what is kept or shown of a VM's output: as they are, in base64, and as URLs
// and JSON write them. Output may write a value in any other form, so this is an aid against accidents and no
// protection.
//
// A tenant chooses both the values and the text, so every step has a bound: patterns are short and not many,
// and few of them begin alike.

/** Characters of a value that are looked for at least. A shorter one would be found where it is none. */
const VALUE_MIN_CHARS = 8;
/** A pattern is recognized by so many of its first characters, and then compared. */
const PREFIX_CHARS = VALUE_MIN_CHARS;
/** Longer forms are cut into several patterns: a line of `base64`, which so is one of them. */
const PIECE_CHARS = 76;
/** A rest that is too short for a pattern is part of the one before. */
export const PATTERN_MAX_CHARS = PIECE_CHARS + VALUE_MIN_CHARS - 1;
const PATTERNS_MAX = 4_096;
/** A prefix that more patterns have is a pattern itself. */
const SAME_PREFIX_MAX = 4;
/** Bits of a hash of eight characters that say whether a prefix may be there. */
const FILTER_BITS = 16;

export class Redactor {
  readonly #patterns = new Map<string, string[]>();
  readonly #filter = new Uint8Array(1 << FILTER_BITS);

  /**
   * Values of fewer than 8 characters are left out, and so are the last ones where all have too many
   * patterns. Of one with several lines each line is a value.
   */
  constructor(values: Iterable<string>) {
    let count = 0;
    for (const pattern of patternsOf(values)) {
      if (count === PATTERNS_MAX) return;
      const prefix = pattern.slice(0, PREFIX_CHARS);
      const alike = this.#patterns.get(prefix) ?? [];
      if (alike.includes(pattern) || alike[0] === prefix) continue;
      this.#patterns.set(prefix, alike.length < SAME_PREFIX_MAX ? [...alike, pattern] : [prefix]);
      let hash = 0;
      for (let at = 0; at < PREFIX_CHARS; at += 1) hash = hashWith(hash, prefix.charCodeAt(at));
      this.#filter[indexOf(hash)] = 1;
      count += 1;
    }
  }

  /** Beginnings of patterns. A text without any of them has no value. */
  get prefixes(): string[] {
    return [...this.#patterns.keys()];
  }

  /** The text with an asterisk for each character of a value. */
  redact(text: string): string {
    let redacted = "";
    let from = 0;
    let to = 0;
    for (const [start, end] of this.#matches(text)) {
      if (start > to) {
        redacted += "*".repeat(to - from) + text.slice(to, start);
        from = start;
      }
      to = Math.max(to, end);
    }
    return to === 0 ? text : redacted + "*".repeat(to - from) + text.slice(to);
  }

  /** Like `redact`, of bytes: as many bytes. */
  redactBytes(bytes: Buffer): Buffer {
    return Buffer.from(this.redact(bytes.toString("latin1")), "latin1");
  }

  /**
   * Finds a place to cut a text that goes on into pieces of `max` characters or a few more, so that no
   * pattern is cut. Undefined where the text is too short to say yet.
   */
  cutOf(text: string, max: number): number | undefined {
    if (text.length <= max + PATTERN_MAX_CHARS) return undefined;
    let cut = max;
    // A match that ends behind the cut may overlap the next one.
    const around = Math.max(0, max - PATTERN_MAX_CHARS);
    for (const [start, end] of this.#matches(text.slice(around, max + PATTERN_MAX_CHARS))) {
      if (start + around < cut && end + around > cut) cut = end + around;
    }
    return cut;
  }

  /** Sorted by their ends; they may overlap. */
  *#matches(text: string): Generator<readonly [start: number, end: number]> {
    if (this.#patterns.size === 0) return;
    const filter = this.#filter;
    let hash = 0;
    for (let at = 0; at < text.length; at += 1) {
      hash = hashWith(hash, text.charCodeAt(at));
      if (filter[indexOf(hash)] !== 1 || at < PREFIX_CHARS - 1) continue;
      const start = at - PREFIX_CHARS + 1;
      for (const pattern of this.#patterns.get(text.slice(start, at + 1)) ?? [])
        if (text.startsWith(pattern, start)) yield [start, start + pattern.length];
    }
  }
}

/**
 * The hash of the last eight characters, with no trace of those before them: 4 bits of the hash are shifted out each
 * time.
 */
function hashWith(hash: number, char: number): number {
  return (hash << 4) ^ (Math.imul(char, 0x9e37_79b1) >>> 28);
}

function indexOf(hash: number): number {
  return Math.imul(hash, 0x9e37_79b1) >>> (32 - FILTER_BITS);
}

/** Values as they are come first, so that other forms take no room from them. */
function* patternsOf(values: Iterable<string>): Generator<string> {
  const lines = [...values].flatMap((value) => value.split(/\r?\n/));
  for (const formOf of forms)
    for (const line of lines) if (line.length >= VALUE_MIN_CHARS) yield* piecesOf(formOf(line));
}

function* piecesOf(form: string): Generator<string> {
  for (let at = 0; form.length - at >= VALUE_MIN_CHARS;) {
    const isLast = form.length - at <= PATTERN_MAX_CHARS;
    const end = isLast ? form.length : at + PIECE_CHARS;
    yield form.slice(at, end);
    at = end;
  }
}

const inUrl = (value: string): string => encodeURIComponent(value.toWellFormed());
const texts: readonly ((value: string) => string)[] = [
  (value) => value,
  (value) => JSON.stringify(value).slice(1, -1),
  inUrl,
  (value) => inUrl(value).replaceAll(/%../g, (code) => code.toLowerCase()),
];
const forms: readonly ((value: string) => string)[] = [
  ...texts,
  // As `redactBytes` sees them.
  ...texts.map((formOf) => (value: string) => Buffer.from(formOf(value)).toString("latin1")),
  ...(["base64", "base64url"] as const).flatMap((encoding) =>
    [0, 1, 2].map((before) => (value: string) => base64Within(value, encoding, before)),
  ),
];

/**
 * The part that does not depend on the text around the value, of which `before` bytes belong to its first
 * character.
 */
function base64Within(value: string, encoding: "base64" | "base64url", before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
  const text = bytes.toString(encoding).replaceAll("=", "");
  return text.slice([0, 2, 3][before], bytes.length % 3 === 0 ? text.length : text.length - 1);
}
