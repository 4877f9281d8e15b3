// Replaces values of secrets in what is kept or shown of a VM's output: as they are, in base64, and as URLs and JSON
// write them. Output may write a value in any other form, so this is an aid against accidents and no protection.

/** Characters of a value that are looked for at least. A shorter one would be found where it is none. */
const VALUE_MIN_CHARS = 8;
/** A pattern is recognized by so many of its first characters, and then compared. */
const PREFIX_CHARS = VALUE_MIN_CHARS;
const BYTES = 256;

interface Match {
  readonly start: number;
  readonly end: number;
}

export class Redactor {
  /** By prefix, the longest first. */
  readonly #patterns = new Map<string, string[]>();
  /** Of the longest pattern. */
  readonly #longest: number;
  /** Aho-Corasick over the prefixes: the next state by state and low byte of the character, `BYTES` in a row. */
  readonly #next: Int32Array;
  /** Whether a prefix ends in the state. */
  readonly #ends: Uint8Array;

  /** Values of fewer than 8 characters are left out. Of one with several lines each line is a value. */
  constructor(values: Iterable<string>) {
    const patterns = new Set([...values].flatMap(linesOf).flatMap(formsOf));
    for (const pattern of [...patterns].toSorted((a, b) => b.length - a.length)) {
      const prefix = pattern.slice(0, PREFIX_CHARS);
      this.#patterns.set(prefix, [...(this.#patterns.get(prefix) ?? []), pattern]);
    }
    this.#longest = Math.max(0, ...[...patterns].map(({ length }) => length));
    ({ next: this.#next, ends: this.#ends } = automatonOf([...this.#patterns.keys()]));
  }

  /** The text with an asterisk for each character of a value. */
  redact(text: string): string {
    let redacted = "";
    let done = 0;
    for (const { start, end } of this.#matches(text)) {
      redacted += text.slice(done, start) + "*".repeat(end - start);
      done = end;
    }
    return done === 0 ? text : redacted + text.slice(done);
  }

  /** Like `redact`, of bytes: as many bytes. */
  redactBytes(bytes: Buffer): Buffer {
    return Buffer.from(this.redact(bytes.toString("latin1")), "latin1");
  }

  /**
   * Where a text that goes on can be cut into pieces of `max` characters or a little more, so that no value is cut;
   * undefined where it is too short to say yet.
   */
  cutOf(text: string, max: number): number | undefined {
    if (text.length <= max + this.#longest) return undefined;
    for (const { start, end } of this.#matches(text)) {
      if (start >= max) break;
      if (end > max) return end;
    }
    return max;
  }

  *#matches(text: string): Generator<Match> {
    if (this.#patterns.size === 0) return;
    const next = this.#next;
    const ends = this.#ends;
    let state = 0;
    for (let at = 0; at < text.length; at += 1) {
      state = next[state * BYTES + (text.charCodeAt(at) & 0xff)] ?? 0;
      if (ends[state] !== 1) continue;
      const start = at - PREFIX_CHARS + 1;
      const prefix = text.slice(start, at + 1);
      const found = this.#patterns.get(prefix)?.find((pattern) => text.startsWith(pattern, start));
      if (found === undefined) continue;
      yield { start, end: start + found.length };
      at = start + found.length - 1;
      state = 0;
    }
  }
}

function linesOf(value: string): string[] {
  return value.split(/\r?\n/).filter(({ length }) => length >= VALUE_MIN_CHARS);
}

function formsOf(value: string): string[] {
  const bytes = Buffer.from(value);
  const forms = [
    value,
    bytes.toString("latin1"),
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value.toWellFormed()),
  ];
  for (const encoding of ["base64", "base64url"] as const)
    for (const before of [0, 1, 2]) {
      // What its first and last characters are depends on its neighbours.
      const text = Buffer.concat([Buffer.alloc(before), bytes])
        .toString(encoding)
        .replaceAll("=", "");
      const end = (before + bytes.length) % 3 === 0 ? text.length : text.length - 1;
      forms.push(text.slice([0, 2, 3][before], end));
    }
  return forms.filter(({ length }) => length >= VALUE_MIN_CHARS);
}

function automatonOf(prefixes: readonly string[]): { readonly next: Int32Array; readonly ends: Uint8Array } {
  const states = 1 + prefixes.length * PREFIX_CHARS;
  const next = new Int32Array(states * BYTES);
  const ends = new Uint8Array(states);
  let made = 1;
  for (const prefix of prefixes) {
    let state = 0;
    for (let at = 0; at < prefix.length; at += 1) {
      const edge = state * BYTES + (prefix.charCodeAt(at) & 0xff);
      next[edge] ||= made++;
      state = next[edge] ?? 0;
    }
    ends[state] = 1;
  }
  const fallback = new Int32Array(states);
  const queue = [0];
  for (const state of queue)
    for (let byte = 0; byte < BYTES; byte += 1) {
      const edge = state * BYTES + byte;
      const target = next[edge] ?? 0;
      const otherwise = state === 0 ? 0 : (next[(fallback[state] ?? 0) * BYTES + byte] ?? 0);
      if (target === 0) next[edge] = otherwise;
      else {
        fallback[target] = otherwise;
        queue.push(target);
      }
    }
  return { next, ends };
}
