// Texts that must not reach a guest in an answer: a secret that its request got on the way, and that the
// server repeats. Each becomes as many asterisks, so that lengths stay. A server that writes it in another
// form is not seen through.

import { Transform } from "node:stream";
import { PATTERN_MAX_CHARS, Redactor } from "@skerry/contract/secrets/redactor";

/** Characters at the end of what has come that may be the beginning of a text. */
const HELD_CHARS = PATTERN_MAX_CHARS - 1;
/** More of them are looked for all at once. */
const SEARCHED_PREFIXES_MAX = 12;
const NOTHING = Buffer.alloc(0);
/** Silence after which held bytes go on: a server may wait for an answer to them. */
const HELD_MS = 5;

export class HiddenTexts {
  readonly #redactor: Redactor;
  readonly #prefixes: readonly Buffer[];
  readonly isEmpty: boolean;

  constructor(texts: readonly string[]) {
    this.isEmpty = texts.length === 0;
    this.#redactor = new Redactor(texts);
    this.#prefixes = this.#redactor.prefixes.map((prefix) => Buffer.from(prefix, "latin1"));
  }

  /** Fields of an answer, each a text of its own. */
  hide(texts: readonly string[]): string[] {
    return this.isEmpty ? [...texts] : texts.map((text) => this.#redactor.redact(text));
  }

  /**
   * Passes bytes on as they come. How many it holds, and for how long, says nothing of what they are: a guest
   * that sees where pieces end would find a secret out letter by letter.
   */
  filter(): Transform {
    /** Passed on, and looked at again together with what follows. */
    let seen: Buffer = Buffer.alloc(0);
    let held: Buffer = Buffer.alloc(0);
    let timer: NodeJS.Timeout | undefined;
    const pass = (stream: Transform, bytes: Buffer, keep: number): void => {
      const all = Buffer.concat([seen, held, bytes]);
      const from = seen.length;
      const to = Math.max(from, all.length - keep);
      if (to > from) stream.push(this.#shown(all).subarray(from, to));
      seen = all.subarray(Math.max(0, to - HELD_CHARS), to);
      held = all.subarray(to);
    };
    return new Transform({
      transform(bytes: Buffer, _encoding, done) {
        clearTimeout(timer);
        pass(this, bytes, HELD_CHARS);
        timer = setTimeout(() => pass(this, NOTHING, 0), HELD_MS);
        done();
      },
      flush(done) {
        clearTimeout(timer);
        pass(this, NOTHING, 0);
        done();
      },
      destroy(error, done) {
        clearTimeout(timer);
        done(error);
      },
    });
  }

  /** Most pieces have no beginning of a pattern, which is found out several times faster than a whole one. */
  #shown(bytes: Buffer): Buffer {
    const isPlain =
      this.#prefixes.length <= SEARCHED_PREFIXES_MAX &&
      !this.#prefixes.some((prefix) => bytes.includes(prefix));
    return isPlain ? bytes : this.#redactor.redactBytes(bytes);
  }
}
