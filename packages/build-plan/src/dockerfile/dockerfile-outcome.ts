// Outcome of a Dockerfile as far as its text says it: what its last stage stands on, and what holds in its
// image.

import { readDockerfile } from "./dockerfile-instructions.ts";
import { DockerfileScope, valueOf } from "./dockerfile-scope.ts";
import { rawWords } from "./dockerfile-words.ts";
import { shellWord } from "@skerry/contract/shell-words";

export interface DockerfileOutcome {
  /** As FROM names it: a template or an image. */
  readonly base: string;
  /** Values that the Dockerfile sets itself and that its text tells. */
  readonly env: Readonly<Record<string, string>>;
  /** Null: that of its base, or what the text does not tell. */
  readonly user: string | null;
  readonly workdir: string | null;
  /** Its ENTRYPOINT and CMD as one line of a shell. Null: none, or that of its base. */
  readonly command: string | null;
}

/** Undefined where there is no such stage. `target`: its name or its number; empty for the last one. */
export function dockerfileOutcome(
  text: string,
  { args, target }: { readonly args: Readonly<Record<string, string>>; readonly target: string },
): DockerfileOutcome | undefined {
  const stages = new Stages(args);
  for (const { word, rest } of readDockerfile(text).instructions) {
    if (word === "FROM") {
      if (stages.isAt(target)) break;
      stages.begin(rest);
    }
    stages.take(word, rest);
  }
  return target === "" || stages.isAt(target) ? stages.outcome : undefined;
}

/** Settings that a stage hands on to one that begins on it. */
interface Stage {
  readonly base: string;
  readonly user: string | null;
  readonly begins: Begins;
}

interface Begins {
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
}

const NOTHING: Begins = { entrypoint: [], cmd: [] };

class Stages {
  readonly #scope: DockerfileScope;
  readonly #known = new Map<string, Stage>();
  #name = "";
  #number = -1;
  #base = "";
  #user: string | null = null;
  #begins = NOTHING;
  /** The stage has a CMD of its own. */
  #hasCmd = false;

  constructor(args: Readonly<Record<string, string>>) {
    this.#scope = new DockerfileScope({ args, template: undefined });
  }

  /** Undefined before the first one. */
  get outcome(): DockerfileOutcome | undefined {
    if (this.#number < 0) return undefined;
    const { knownEnv, workdir = null } = this.#scope;
    const words = [...this.#begins.entrypoint, ...this.#begins.cmd];
    const command = words.length === 0 ? null : words.join(" ");
    return { base: this.#base, env: knownEnv, user: this.#user, workdir, command };
  }

  isAt(target: string): boolean {
    return (
      target !== "" && this.#number >= 0 && [this.#name, `${this.#number}`].includes(target.toLowerCase())
    );
  }

  begin(rest: string): void {
    if (this.#name !== "")
      this.#known.set(this.#name, { base: this.#base, user: this.#user, begins: this.#begins });
    const words = (rawWords(rest) ?? []).filter((one) => !one.startsWith("--"));
    const [first = "", as = "", stage = ""] = words;
    const base = valueOf(first, this.#scope.globals) ?? first;
    const on = this.#known.get(base.toLowerCase()) ?? { base, user: null, begins: NOTHING };
    ({ base: this.#base, user: this.#user, begins: this.#begins } = on);
    this.#name = as.toUpperCase() === "AS" ? stage.toLowerCase() : "";
    this.#hasCmd = false;
    this.#number += 1;
  }

  take(word: string, rest: string): void {
    // An entry point of its own gives up the command of what it begins on.
    if (word === "ENTRYPOINT")
      this.#begins = { entrypoint: wordsOf(rest), cmd: this.#hasCmd ? this.#begins.cmd : [] };
    if (word === "CMD") this.#begins = { ...this.#begins, cmd: wordsOf(rest) };
    this.#hasCmd ||= word === "CMD";
    if (word === "USER") this.#user = valueOf(rest, this.#scope.lookup);
    this.#scope.take({ word, rest });
  }
}

/** Each word of the JSON form as a word of a shell; another line as it stands. */
function wordsOf(rest: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(rest);
    if (Array.isArray(value)) return value.map((word) => shellWord(String(word)));
  } catch {
    // A line for its shell.
  }
  return [rest.trim()].filter((line) => line !== "");
}
