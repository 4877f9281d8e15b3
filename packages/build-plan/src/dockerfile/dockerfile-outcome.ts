// Outcome of a Dockerfile as far as its text says it: what its last stage stands on, and what holds in its
// image.

import { readDockerfile } from "./dockerfile-instructions.ts";
import { DockerfileScope, valueOf } from "./dockerfile-scope.ts";
import { rawWords } from "./dockerfile-words.ts";

export interface DockerfileOutcome {
  /** As FROM names it: a template or an image. */
  readonly base: string;
  /** Values that the Dockerfile sets itself and that its text tells. */
  readonly env: Readonly<Record<string, string>>;
  /** Null: that of its base, or what the text does not tell. */
  readonly user: string | null;
  readonly workdir: string | null;
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

class Stages {
  readonly #scope: DockerfileScope;
  readonly #known = new Map<string, { readonly base: string; readonly user: string | null }>();
  #name = "";
  #number = -1;
  #base = "";
  #user: string | null = null;

  constructor(args: Readonly<Record<string, string>>) {
    this.#scope = new DockerfileScope({ args, template: undefined });
  }

  /** Undefined before the first one. */
  get outcome(): DockerfileOutcome | undefined {
    if (this.#number < 0) return undefined;
    const { knownEnv, workdir = null } = this.#scope;
    return { base: this.#base, env: knownEnv, user: this.#user, workdir };
  }

  isAt(target: string): boolean {
    return (
      target !== "" && this.#number >= 0 && [this.#name, `${this.#number}`].includes(target.toLowerCase())
    );
  }

  begin(rest: string): void {
    if (this.#name !== "") this.#known.set(this.#name, { base: this.#base, user: this.#user });
    const words = (rawWords(rest) ?? []).filter((one) => !one.startsWith("--"));
    const [first = "", as = "", stage = ""] = words;
    const base = valueOf(first, this.#scope.globals) ?? first;
    ({ base: this.#base, user: this.#user } = this.#known.get(base.toLowerCase()) ?? { base, user: null });
    this.#name = as.toUpperCase() === "AS" ? stage.toLowerCase() : "";
    this.#number += 1;
  }

  take(word: string, rest: string): void {
    if (word === "USER") this.#user = valueOf(rest, this.#scope.lookup);
    this.#scope.take({ word, rest });
  }
}
