// One pattern of `.dockerignore`, by the rules of Go's `filepath.Match` and of `**` in moby/patternmatcher:
// `*` and `?` do not cross a `/`, `[a-z]` and `[^a-z]` are classes, `\` takes the next character as it is,
// `**` crosses any number of folders.

interface Char {
  readonly kind: "char";
  readonly char: string;
}
interface Class {
  readonly kind: "class";
  readonly isNegated: boolean;
  readonly ranges: readonly (readonly [low: number, high: number])[];
}
/** `any`: a character but `/`. `some`: any number of these. `folders`: nothing, or all up to a `/`. `rest`:
 *  any number of any characters. */
interface Wild {
  readonly kind: "any" | "some" | "folders" | "rest";
}
export type IgnoreToken = Char | Class | Wild;

/** Undefined where the pattern is malformed. Without `/` at its beginning, `.` and `..`, as `cleanPattern`
 *  leaves it. */
export function readIgnorePattern(pattern: string): readonly IgnoreToken[] | undefined {
  const chars = Array.from(pattern);
  const tokens: IgnoreToken[] = [];
  let at = 0;
  while (at < chars.length) {
    const read = readToken(chars, at);
    if (read === undefined) return undefined;
    tokens.push(read.token);
    at = read.next;
  }
  return isAnySuffix(pattern) ? [{ kind: "rest" }, ...tokens.slice(1)] : tokens;
}

/** `**name` alone is every path that ends so, also in the middle of a name. */
function isAnySuffix(pattern: string): boolean {
  return /^\*\*[^/*?[\]\\][^*?[\]\\]*$/.test(pattern);
}

interface Read<Token> {
  readonly token: Token;
  readonly next: number;
}

function readToken(chars: readonly string[], at: number): Read<IgnoreToken> | undefined {
  const char = chars[at] ?? "";
  if (char === "*" && chars[at + 1] === "*") {
    const next = chars[at + 2] === "/" ? at + 3 : at + 2;
    return { token: { kind: next === chars.length ? "rest" : "folders" }, next };
  }
  if (char === "*") return { token: { kind: "some" }, next: at + 1 };
  if (char === "?") return { token: { kind: "any" }, next: at + 1 };
  if (char === "[") return readClass(chars, at + 1);
  if (char !== "\\") return { token: { kind: "char", char }, next: at + 1 };
  const escaped = chars[at + 1];
  return escaped === undefined ? undefined : { token: { kind: "char", char: escaped }, next: at + 2 };
}

function readClass(chars: readonly string[], begin: number): Read<Class> | undefined {
  const isNegated = chars[begin] === "^";
  const ranges: [number, number][] = [];
  let at = isNegated ? begin + 1 : begin;
  while (chars[at] !== "]" || ranges.length === 0) {
    const low = readClassChar(chars, at);
    if (low === undefined) return undefined;
    const high = chars[low.next] === "-" ? readClassChar(chars, low.next + 1) : low;
    if (high === undefined || high.token < low.token) return undefined;
    ranges.push([low.token, high.token]);
    at = high.next;
  }
  return { token: { kind: "class", isNegated, ranges }, next: at + 1 };
}

/** Its code point. A `-` or a `]` that is meant has a `\` before it. */
function readClassChar(chars: readonly string[], at: number): Read<number> | undefined {
  const isEscaped = chars[at] === "\\";
  const char = chars[isEscaped ? at + 1 : at];
  const code = char?.codePointAt(0);
  if (code === undefined || (!isEscaped && (char === "-" || char === "]"))) return undefined;
  return { token: code, next: at + (isEscaped ? 2 : 1) };
}

/** Whether the pattern matches the path, or a folder above it. It follows all ways at once, so its time is at
 *  most the product of both lengths. */
export function matchesOrIsBelow(tokens: readonly IgnoreToken[], path: string): boolean {
  const end = 2 * tokens.length;
  let reached = new States(end + 1);
  let next = new States(end + 1);
  reach(tokens, reached, 0);
  for (const char of path) {
    if (char === "/" && reached.has(end)) return true;
    next.clear();
    for (const state of reached.list) step(tokens, next, { state, char });
    if (next.list.length === 0) return false;
    [reached, next] = [next, reached];
  }
  return reached.has(end);
}

/** Twice the number of the token that comes next; one more is within `folders`, of which the `/` is still to
 *  come. Each is in the list once. */
class States {
  readonly list: number[] = [];
  readonly #marks: Uint32Array;
  #round = 1;

  constructor(size: number) {
    this.#marks = new Uint32Array(size);
  }

  has(state: number): boolean {
    return this.#marks[state] === this.#round;
  }

  add(state: number): void {
    if (this.has(state)) return;
    this.#marks[state] = this.#round;
    this.list.push(state);
  }

  clear(): void {
    this.list.length = 0;
    this.#round += 1;
  }
}

function step(
  tokens: readonly IgnoreToken[],
  next: States,
  { state, char }: { readonly state: number; readonly char: string },
): void {
  const at = state >> 1;
  const token = tokens[at];
  if (token === undefined) return;
  if (token.kind === "folders") {
    next.add(2 * at + 1);
    if (char === "/") reach(tokens, next, at + 1);
  } else if (token.kind === "rest" || (token.kind === "some" && char !== "/")) reach(tokens, next, at);
  else if (token.kind !== "some" && isOne(token, char)) reach(tokens, next, at + 1);
}

/** A wildcard that may stand for nothing is passed at once. */
function reach(tokens: readonly IgnoreToken[], reached: States, from: number): void {
  for (let at = from; ; at += 1) {
    reached.add(2 * at);
    const kind = tokens[at]?.kind;
    if (kind !== "some" && kind !== "folders" && kind !== "rest") return;
  }
}

function isOne(token: IgnoreToken, char: string): boolean {
  if (token.kind === "char") return token.char === char;
  if (token.kind !== "class") return char !== "/";
  const code = char.codePointAt(0) ?? 0;
  return token.ranges.some(([low, high]) => low <= code && code <= high) !== token.isNegated;
}

/** As Go's `filepath.Clean`, and without the `/` of an absolute path. */
export function cleanPattern(pattern: string): string {
  const isAbsolute = pattern.startsWith("/");
  const names: string[] = [];
  for (const name of pattern.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== "..") names.push(name);
    else if (names.length > 0 && names.at(-1) !== "..") names.pop();
    else if (!isAbsolute) names.push(name);
  }
  return names.join("/");
}
