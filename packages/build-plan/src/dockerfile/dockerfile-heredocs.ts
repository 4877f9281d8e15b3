// Documents within a Dockerfile (`<<EOF`), as BuildKit reads them.

import { rawWords, unquoted } from "./dockerfile-words.ts";

export interface Heredoc {
  /** Word that ends it, and the name of its file. */
  readonly name: string;
  /** `<<-`: without the tabs that lines begin with. */
  readonly isChomped: boolean;
  /** Its delimiter has no quotes, so variables in it have their values. */
  readonly isExpanded: boolean;
}

export interface HeredocText extends Heredoc {
  /** All lines, each with its end. */
  readonly content: string;
}

const READS_THEM: ReadonlySet<string> = new Set(["ADD", "COPY", "RUN"]);

/** The word and what follows it, behind ONBUILD where that is there. */
export function withoutOnbuild(word: string, rest: string): readonly [word: string, rest: string] {
  if (word !== "ONBUILD") return [word, rest];
  const [, inner = "", after = ""] = /^(\S+)\s*(.*)$/s.exec(rest) ?? [];
  return [inner.toUpperCase(), after];
}

/** Those that this instruction begins, in their order. */
export function heredocsOf(word: string, rest: string): readonly Heredoc[] {
  const [own, after] = withoutOnbuild(word, rest);
  if (!READS_THEM.has(own) || !after.includes("<<") || isJson(after)) return [];
  return (rawWords(after) ?? []).flatMap((one) => readHeredoc(one) ?? []);
}

/** Undefined where the word is none, such as `<<<` or a shift by a number in quotes. */
export function readHeredoc(word: string): Heredoc | undefined {
  const [, dash, delimiter = ""] = /^\d*<<(-?)([^<]+)$/s.exec(word) ?? [];
  if (delimiter === "") return undefined;
  const name = unquoted(delimiter);
  return { name, isChomped: dash === "-", isExpanded: name === delimiter };
}

/** Whether the words behind the flags are in the exec form. */
export function isJson(rest: string): boolean {
  const text = rest.replace(/^(?:--\S*\s+)*/, "");
  if (!text.startsWith("[")) return false;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((one) => typeof one === "string");
  } catch {
    return false;
  }
}

/** The line that ends it. */
export function endsHeredoc({ name, isChomped }: Heredoc, line: string): boolean {
  return (isChomped ? line.replace(/^\t+/, "") : line) === name;
}

export function chomped({ content, isChomped }: HeredocText): string {
  return isChomped ? content.replaceAll(/^\t+/gm, "") : content;
}
