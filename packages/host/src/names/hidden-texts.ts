// Texts that must not reach a guest in an answer: a secret that its request got on the way, and that the server repeats. Each
// becomes as many asterisks, so that lengths stay. A server that writes it in another form is not seen through.

import { Transform } from "node:stream";

/** A shorter text would be found where it is none. */
const HIDDEN_MIN_BYTES = 8;

export class HiddenTexts {
  readonly #patterns: readonly Buffer[];

  constructor(texts: readonly string[]) {
    const forms = texts.flatMap((text) => [
      text,
      JSON.stringify(text).slice(1, -1),
      encodeURIComponent(text),
      Buffer.from(text).toString("base64"),
    ]);
    this.#patterns = [...new Set(forms)].map((form) => Buffer.from(form)).filter(isLong);
  }

  get isEmpty(): boolean {
    return this.#patterns.length === 0;
  }

  /** Fields of an answer. */
  hide(texts: readonly string[]): string[] {
    if (this.isEmpty) return [...texts];
    return texts.map((text) => {
      const bytes = Buffer.from(text, "latin1");
      this.#hideIn(bytes);
      return bytes.toString("latin1");
    });
  }

  /** Passes bytes on as they come, but for the beginning of a text at the end of what has come. */
  filter(): Transform {
    let held: Buffer = Buffer.alloc(0);
    return new Transform({
      transform: (bytes: Buffer, _encoding, done) => {
        const all = held.length === 0 ? Buffer.from(bytes) : Buffer.concat([held, bytes]);
        this.#hideIn(all);
        const end = all.length - this.#begunAtEnd(all);
        held = all.subarray(end);
        done(null, all.subarray(0, end));
      },
      flush: (done) => done(null, held),
    });
  }

  #hideIn(bytes: Buffer): void {
    for (const pattern of this.#patterns)
      for (let at = bytes.indexOf(pattern); at !== -1; at = bytes.indexOf(pattern, at + pattern.length))
        bytes.fill("*", at, at + pattern.length);
  }

  /** Bytes at the end that a text may begin with. */
  #begunAtEnd(bytes: Buffer): number {
    return Math.max(0, ...this.#patterns.map((pattern) => begunAtEnd(bytes, pattern)));
  }
}

function isLong(pattern: Buffer): boolean {
  return pattern.length >= HIDDEN_MIN_BYTES;
}

function begunAtEnd(bytes: Buffer, pattern: Buffer): number {
  const [first = 0] = pattern;
  const from = Math.max(0, bytes.length - pattern.length + 1);
  for (let at = bytes.indexOf(first, from); at !== -1; at = bytes.indexOf(first, at + 1))
    if (pattern.subarray(0, bytes.length - at).equals(bytes.subarray(at))) return bytes.length - at;
  return 0;
}
