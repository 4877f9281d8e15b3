// Words of a Dockerfile: quotes, `\` and variables, as BuildKit's lexer has them.

/** A variable's value; null where it is set but not known here, undefined where it is not set. */
export type Lookup = (name: string) => string | null | undefined;

/** Why a text cannot be expanded. */
export class ExpansionFault extends Error {
  override readonly name = "ExpansionFault";
}

/** Split at spaces outside of quotes, which the words keep. Undefined where a quote has no end. */
export function rawWords(text: string): readonly string[] | undefined {
  const words: string[] = [];
  let word = "";
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? "";
    if (/\s/.test(char)) {
      if (word !== "") words.push(word);
      word = "";
      continue;
    }
    const end = char === "\\" ? at + 1 : isQuote(char) ? quoteEnd(text, at) : at;
    if (end === undefined) return undefined;
    word += text.slice(at, end + 1);
    at = end;
  }
  return word === "" ? words : [...words, word];
}

function isQuote(char: string): boolean {
  return char === '"' || char === "'";
}

function quoteEnd(text: string, begin: number): number | undefined {
  const quote = text[begin];
  for (let at = begin + 1; at < text.length; at += 1) {
    if (text[at] === quote) return at;
    if (text[at] === "\\" && quote === '"') at += 1;
  }
  return undefined;
}

/** Without its quotes; variables stay as they are. */
export function unquoted(word: string): string {
  return word.replaceAll(
    /\\(.)|"((?:\\.|[^"\\])*)"|'([^']*)'/gs,
    (_, char?: string, double?: string, single?: string) =>
      char ?? single ?? (double ?? "").replaceAll(/\\(["$\\])/g, "$1"),
  );
}

/** The values of its variables in their places. With `quotes` as a word of an instruction, without as the
 *  text of a document, in which a quote is a character as any. Throws `ExpansionFault`. */
export function expanded(text: string, lookup: Lookup, { quotes }: { readonly quotes: boolean }): string {
  return new Expansion(text, lookup, quotes).until(undefined);
}

/** Longer values are no one's, and values of values would grow without end. */
const EXPANDED_MAX_CHARS = 64 * 1024;
/** `${A:-${B:-…}}`: each level takes a part of the stack of control. */
const NESTED_MAX = 100;

class Expansion {
  readonly #text: string;
  readonly #lookup: Lookup;
  readonly #quotes: boolean;
  #at = 0;
  #depth = 0;

  constructor(text: string, lookup: Lookup, quotes: boolean) {
    this.#text = text;
    this.#lookup = lookup;
    this.#quotes = quotes;
  }

  /** Up to this character, which is passed, or to the end. */
  until(stop: string | undefined): string {
    let found = "";
    while (this.#at < this.#text.length) {
      const char = this.#next();
      if (char === stop) return found;
      if (char === "\\") found += this.#next();
      else if (char === "$") found += this.#variable();
      else if (this.#quotes && char === "'") found += this.#single();
      else if (this.#quotes && char === '"') found += this.#double();
      else found += char;
      if (found.length > EXPANDED_MAX_CHARS) throw new ExpansionFault("becomes too long");
    }
    if (stop === undefined) return found;
    throw new ExpansionFault("has a `${` without its `}`");
  }

  #next(): string {
    const char = this.#text[this.#at] ?? "";
    this.#at += 1;
    return char;
  }

  #single(): string {
    const end = this.#text.indexOf("'", this.#at);
    if (end < 0) throw new ExpansionFault("has a quote without its end");
    const found = this.#text.slice(this.#at, end);
    this.#at = end + 1;
    return found;
  }

  #double(): string {
    let found = "";
    while (this.#at < this.#text.length) {
      const char = this.#next();
      if (char === '"') return found;
      if (char === "$") found += this.#variable();
      else if (char === "\\" && /["$\\]/.test(this.#text[this.#at] ?? "")) found += this.#next();
      else found += char;
    }
    throw new ExpansionFault("has a quote without its end");
  }

  #variable(): string {
    if (this.#text[this.#at] !== "{") {
      const name = this.#name();
      return name === "" ? "$" : (this.#value(name) ?? "");
    }
    this.#at += 1;
    const name = this.#name();
    if (name === "") throw new ExpansionFault("has a `${` without a name");
    const first = this.#next();
    if (first === "}") return this.#value(name) ?? "";
    const isAlsoEmpty = first === ":";
    const operator = isAlsoEmpty ? this.#next() : first;
    if (!/^[-+?]$/.test(operator))
      throw new ExpansionFault(`changes \`${name}\` by \`${first}\`, which builds do not do`);
    if (this.#depth === NESTED_MAX) throw new ExpansionFault(`nests variables more than ${NESTED_MAX} deep`);
    this.#depth += 1;
    const word = this.until("}");
    this.#depth -= 1;
    return this.#otherwise({ name, operator, isAlsoEmpty, word });
  }

  #otherwise(said: {
    readonly name: string;
    readonly operator: string;
    readonly isAlsoEmpty: boolean;
    readonly word: string;
  }): string {
    const { name, operator, isAlsoEmpty, word } = said;
    const value = this.#value(name);
    const isThere = value !== undefined && !(isAlsoEmpty && value === "");
    if (operator === "+") return isThere ? word : "";
    if (isThere) return value;
    if (operator === "-") return word;
    throw new ExpansionFault(`needs \`${name}\`${word === "" ? "" : `: ${word.slice(0, 200)}`}`);
  }

  #name(): string {
    const here = /\d+|[@*#?\-$!]|[\p{L}_][\p{L}\p{Nd}_]*/uy;
    here.lastIndex = this.#at;
    const [name = ""] = here.exec(this.#text) ?? [];
    this.#at += name.length;
    return name;
  }

  #value(name: string): string | undefined {
    // Variables that a shell sets by itself are never set here.
    const value = /^[\p{L}_]/u.test(name) ? this.#lookup(name) : undefined;
    if (value === null)
      throw new ExpansionFault(
        `takes \`${name}\` from what the image of FROM has, which is not known before it is built`,
      );
    return value;
  }
}
