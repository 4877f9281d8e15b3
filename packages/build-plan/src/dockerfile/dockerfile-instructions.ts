// A Dockerfile in its instructions, and what its stages begin on.

import { endsHeredoc, heredocsOf, type HeredocText } from "./dockerfile-heredocs.ts";

/** No reference to a template or an image is longer. */
const BASE_MAX_CHARS = 1_000;

export interface Instruction {
  /** In capitals. */
  readonly word: string;
  readonly rest: string;
  /** With the lines that it goes on in, and its documents. */
  readonly text: string;
  /** Number of its first line, from 1 on. */
  readonly line: number;
  readonly heredocs: readonly HeredocText[];
}

export interface ReadDockerfile {
  /** Character that lets an instruction go on with the next line. The first lines say which one. */
  readonly escape: "\\" | "`";
  readonly instructions: readonly Instruction[];
}

/** Undefined where another character than a backslash goes on with the next line. */
export function instructionsOf(text: string): readonly Instruction[] | undefined {
  const { escape, instructions } = readDockerfile(text);
  return escape === "\\" ? instructions : undefined;
}

/** A document without its end takes all that follows; `onUnended` is told of it, with its line. */
export function readDockerfile(
  text: string,
  onUnended: (name: string, line: number) => void = () => undefined,
): ReadDockerfile {
  const lines = new Lines(text);
  const escape = escapeOf(lines.all);
  const goesOn = GOES_ON[escape];
  const instructions: Instruction[] = [];
  for (let begin = lines.nextOfText(); begin !== undefined; begin = lines.nextOfText()) {
    const own = [begin.text];
    let whole = begin.text.trimStart();
    while (goesOn.test(whole)) {
      whole = whole.replace(goesOn, "$1");
      const next = lines.nextOfText();
      if (next === undefined) break;
      own.push(next.text);
      whole += next.text;
    }
    const [, word = "", rest = ""] = /^\s*(\S+)\s*(.*)$/s.exec(whole) ?? [];
    const said = { word: word.toUpperCase(), rest: rest.trim() };
    const heredocs = heredocsOf(said.word, said.rest).map((heredoc) => {
      const { content, taken, isEnded } = lines.takeHeredoc((line) => endsHeredoc(heredoc, line));
      if (!isEnded) onUnended(heredoc.name, begin.line);
      own.push(...taken);
      return { ...heredoc, content };
    });
    instructions.push({ ...said, text: own.join("\n").trim(), line: begin.line, heredocs });
  }
  return { escape, instructions };
}

/** One that is escaped itself does not. */
const GOES_ON = { "\\": /(^|[^\\])\\[ \t]*$/, "`": /(^|[^`])`[ \t]*$/ } as const;

function escapeOf(lines: readonly string[]): "\\" | "`" {
  for (const line of lines) {
    const [, name, value] = /^\s*#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(.+?)\s*$/.exec(line) ?? [];
    if (name === undefined) return "\\";
    if (name.toLowerCase() === "escape") return value === "`" ? "`" : "\\";
  }
  return "\\";
}

class Lines {
  /** Without their ends. */
  readonly all: readonly string[];
  readonly #raw: readonly string[];
  #at = 0;

  constructor(text: string) {
    const lines = text.replace(/^\uFEFF/, "").split("\n");
    // Nothing follows the last line's end.
    this.#raw = lines.at(-1) === "" ? lines.slice(0, -1) : lines;
    this.all = this.#raw.map((line) => line.replace(/\r$/, ""));
  }

  /** Neither empty nor a comment. */
  nextOfText(): { readonly text: string; readonly line: number } | undefined {
    while (this.#at < this.all.length) {
      const text = this.all[this.#at] ?? "";
      this.#at += 1;
      if (text.trim() !== "" && !/^\s*#/.test(text)) return { text, line: this.#at };
    }
    return undefined;
  }

  /** Lines of a document. In a file whose lines end with CR and LF those of its documents do not: a shell
   *  would take the CR for a part of a command. */
  takeHeredoc(isEnd: (line: string) => boolean) {
    const own = this.#raw[this.#at - 1]?.endsWith("\r") === true ? this.all : this.#raw;
    const begin = this.#at;
    while (this.#at < this.all.length && !isEnd(this.all[this.#at] ?? "")) this.#at += 1;
    const isEnded = this.#at < this.all.length;
    const content = own.slice(begin, this.#at).map((line) => `${line}\n`);
    if (isEnded) this.#at += 1;
    return { content: content.join(""), taken: own.slice(begin, this.#at), isEnded };
  }
}

/** What its stages begin on, as FROM names it: that of the last stage first, and none twice. Neither another stage nor what is left open, such as an
 *  argument without a value, or one that is named so often that it would make a small text a large one. */
export function basesOf(text: string, args: Readonly<Record<string, string>> = {}): readonly string[] {
  const known = new Map<string, string>();
  const stages = new Set<string>(["scratch"]);
  const bases = new Set<string>();
  for (const { word, rest } of instructionsOf(text) ?? []) {
    const words = rest.split(/\s+/).filter((each) => !each.startsWith("--"));
    if (word === "ARG") for (const each of words) keepArgument(known, each, args);
    if (word !== "FROM") continue;
    const [first = "", as = "", stage = ""] = words;
    const base = withArguments(first, known);
    if (!stages.has(base.toLowerCase())) bases.add(base);
    if (as.toUpperCase() === "AS") stages.add(stage.toLowerCase());
  }
  return [...bases].filter((base) => !base.includes("$")).toReversed();
}

/** `NAME` or `NAME=DEFAULT`. */
function keepArgument(
  known: Map<string, string>,
  text: string,
  args: Readonly<Record<string, string>>,
): void {
  const [, name = "", byDefault] = /^([^=]+)(?:=["']?([^"']*)["']?)?$/.exec(text) ?? [];
  const value = Object.hasOwn(args, name) ? args[name] : byDefault;
  if (value !== undefined) known.set(name, value);
}

/** With the values of its arguments, or, where these are longer than any name, as it is: open. */
function withArguments(text: string, known: ReadonlyMap<string, string>): string {
  let chars = 0;
  const base = text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (whole, braced?: string, plain?: string) => {
    const value = known.get(braced ?? plain ?? "") ?? whole;
    chars += value.length;
    return chars > BASE_MAX_CHARS ? "" : value;
  });
  return chars > BASE_MAX_CHARS ? text : base;
}
