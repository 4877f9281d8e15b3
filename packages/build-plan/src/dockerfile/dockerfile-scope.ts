// Variables, folder and shell that hold at an instruction of a Dockerfile, as far as its text says them.

import type { PlannedConfig } from "../build-plan.ts";
import type { Instruction } from "./dockerfile-instructions.ts";
import { expanded, ExpansionFault, rawWords, unquoted, type Lookup } from "./dockerfile-words.ts";

export interface ScopeParts {
  /** Arguments of the request. */
  readonly args: Readonly<Record<string, string>>;
  /** Name of the template that FROM of that name means, and what holds there; undefined where each image is a
   *  registry's. */
  readonly template: { readonly name: string; readonly config: PlannedConfig } | undefined;
}

/** Settings that an image hands on to a stage that begins on it. */
interface Image {
  readonly env: ReadonlyMap<string, string | null>;
  /** All that it sets is in `env`. */
  readonly isKnown: boolean;
  /** Undefined where it is not known. */
  readonly workdir: string | undefined;
  readonly shell: readonly string[];
}

const SHELL = ["/bin/sh", "-c"];
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const UNKNOWN: Image = { env: new Map(), isKnown: false, workdir: undefined, shell: SHELL };
const SCRATCH: Image = { env: new Map([["PATH", PATH]]), isKnown: true, workdir: "/", shell: SHELL };

/** Those that an ARG without a value has. */
const PLATFORM: Readonly<Record<string, string>> = Object.fromEntries(
  ["TARGET", "BUILD"].flatMap((prefix) => [
    [`${prefix}PLATFORM`, "linux/amd64"],
    [`${prefix}OS`, "linux"],
    [`${prefix}ARCH`, "amd64"],
    [`${prefix}VARIANT`, ""],
  ]),
);

export class DockerfileScope {
  readonly #parts: ScopeParts;
  readonly #stages = new Map<string, Image>();
  /** Name of the stage; empty where it has none. */
  #name = "";
  /** Before the first FROM. */
  #global = new Map<string, string | null>();
  #args = new Map<string, string | null>();
  #env = new Map<string, string | null>();
  #image: Image = UNKNOWN;
  #isBegun = false;
  workdir: string | undefined;
  shell: readonly string[] = SHELL;

  constructor(parts: ScopeParts) {
    this.#parts = parts;
  }

  /** Values that the stage has set so far, without those that are known only when it is built. */
  get knownEnv(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#env].flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
    );
  }

  readonly lookup: Lookup = (name) => {
    if (this.#env.has(name)) return this.#env.get(name);
    if (this.#args.has(name)) return this.#args.get(name);
    return this.#image.isKnown || !this.#isBegun ? undefined : null;
  };

  /** Goes on behind this instruction. */
  take({ word, rest }: Pick<Instruction, "word" | "rest">): void {
    if (word === "FROM") this.#begin(rest);
    else if (word === "ARG") for (const one of rawWords(rest) ?? []) this.#argument(one);
    else if (word === "ENV") this.#environment(rest);
    else if (word === "WORKDIR") this.#folder(rest);
    else if (word === "SHELL") this.shell = shellOf(rest) ?? this.shell;
  }

  #begin(rest: string): void {
    this.#endStage();
    const words = (rawWords(rest) ?? []).filter((one) => !one.startsWith("--"));
    const [first = "", as = "", stage = ""] = words;
    this.#image = this.#imageOf(valueOf(first, this.globals) ?? "");
    this.#isBegun = true;
    this.#args = new Map();
    this.#env = new Map(this.#image.env);
    this.workdir = this.#image.workdir;
    this.shell = this.#image.shell;
    this.#name = as.toUpperCase() === "AS" ? stage.toLowerCase() : "";
  }

  /** A later stage of this name begins with the settings that this one has come to. */
  #endStage(): void {
    const { workdir, shell } = this;
    const image = { env: this.#env, isKnown: this.#image.isKnown, workdir, shell };
    if (this.#name !== "") this.#stages.set(this.#name, image);
  }

  #imageOf(name: string): Image {
    const stage = this.#stages.get(name.toLowerCase());
    if (stage !== undefined) return stage;
    if (name.toLowerCase() === "scratch") return SCRATCH;
    const { template } = this.#parts;
    if (name === "" || name !== template?.name) return UNKNOWN;
    const { env, workdir } = template.config;
    return { ...SCRATCH, env: new Map(Object.entries(env)), workdir: workdir ?? "/" };
  }

  #argument(word: string): void {
    const [, name = "", byDefault] = /^([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    const lookup = this.#isBegun ? this.lookup : this.globals;
    const own = byDefault === undefined ? this.#withoutDefault(name) : valueOf(byDefault, lookup);
    const { args } = this.#parts;
    const value = Object.hasOwn(args, name) ? args[name] : own;
    if (value !== undefined) (this.#isBegun ? this.#args : this.#global).set(name, value);
  }

  #withoutDefault(name: string): string | null | undefined {
    if (this.#isBegun && this.#global.has(name)) return this.#global.get(name);
    return Object.hasOwn(PLATFORM, name) ? PLATFORM[name] : undefined;
  }

  /** Arguments before the first FROM, which that of each stage sees. */
  readonly globals: Lookup = (name) => this.#global.get(name);

  #environment(rest: string): void {
    const words = rawWords(rest) ?? [];
    const first = words[0] ?? "";
    // `ENV NAME all that follows` is its older form.
    const pairs = first.includes("=")
      ? words.map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)] as const)
      : [[first, rest.slice(first.length).trim()] as const];
    // All of one instruction see what held before it.
    const values = pairs.map(([name, text]) => [unquoted(name), valueOf(text, this.lookup)] as const);
    for (const [name, value] of values) this.#env.set(name, value);
  }

  #folder(rest: string): void {
    const folder = valueOf(rest, this.lookup);
    this.workdir = folder === null ? undefined : joined(this.workdir, folder);
  }
}

/** Null where it depends on what is not known. */
export function valueOf(text: string, lookup: Lookup): string | null {
  try {
    return expanded(text, lookup, { quotes: true });
  } catch (error) {
    if (error instanceof ExpansionFault) return null;
    throw error;
  }
}

/** Absolute, without `.` and `..`. */
export function joined(folder: string | undefined, path: string): string | undefined {
  if (!path.startsWith("/") && folder === undefined) return undefined;
  const names: string[] = [];
  for (const name of (path.startsWith("/") ? path : `${folder}/${path}`).split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

function shellOf(rest: string): readonly string[] | undefined {
  try {
    const value: unknown = JSON.parse(rest);
    return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string")
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}
