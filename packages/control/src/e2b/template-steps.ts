// What E2B's clients build, as a build of ours. Pure. With them commands run as `user` in its home unless a step says otherwise.

import { posix } from "node:path";
import type { BuildRequest } from "@skerry/contract/builds/build-request";
import { SkerryError } from "@skerry/contract/errors";
import { Type, type Static } from "typebox";
import { quoted } from "./command-line.ts";

const closed = { additionalProperties: false } as const;
const STEPS_MAX = 100;
const TEXT_MAX_CHARS = 100_000;
/** Of all variables of a template together: each instruction may name one twice that the instruction before it has doubled. */
const EXPANDED_MAX_CHARS = 1_000_000;

const Step = Type.Object(
  {
    type: Type.String({ maxLength: 20 }),
    args: Type.Optional(Type.Array(Type.String({ maxLength: TEXT_MAX_CHARS }), { maxItems: 1_000 })),
    filesHash: Type.Optional(Type.String({ pattern: "^[0-9a-f]{64}$" })),
    force: Type.Optional(Type.Boolean()),
    // These say how clients read their own files.
    forceUpload: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    resolveSymlinks: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    gzip: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  },
  closed,
);

export const TemplateBody = Type.Object(
  {
    fromImage: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 })),
    fromTemplate: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    // With the login of a registry; it is not kept, and refused.
    fromImageRegistry: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    force: Type.Optional(Type.Boolean()),
    steps: Type.Optional(Type.Array(Step, { maxItems: STEPS_MAX })),
    startCmd: Type.Optional(Type.String({ maxLength: TEXT_MAX_CHARS })),
    readyCmd: Type.Optional(Type.String({ maxLength: TEXT_MAX_CHARS })),
  },
  closed,
);
export type TemplateBody = Static<typeof TemplateBody>;

/** What a template stands on that is the organization's own: what its instructions have left. */
export interface TemplateBase {
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  /** Null: the home of the user. */
  readonly workdir: string | null;
}

/** As it is kept, with what it was to stand on when it came. */
export type KeptTemplate = TemplateBody & { readonly base?: TemplateBase | undefined };

type NativeStep = NonNullable<BuildRequest["steps"]>[number];

export interface TranslatedTemplate {
  readonly request: Pick<BuildRequest, "from" | "image" | "steps" | "start" | "context" | "no_cache">;
  /** Whom and where commands in its sandboxes are that say nothing of it; the folder is null for the home of the user. */
  readonly start: Pick<TemplateBase, "user" | "workdir">;
  /** Of the archives that the steps copy from, each once. */
  readonly hashes: readonly string[];
  /** Of each step that is carried out, in their order: the number of the instruction that it is part of, from 1. */
  readonly instructions: readonly number[];
  /** Of each step of the request. */
  readonly instructionOfStep: readonly number[];
}

/** E2B's own images, which are templates here. */
const IMAGES = new Map([
  ["e2bdev/base", "base"],
  ["e2bdev/code-interpreter", "code-interpreter"],
]);

export const E2B_USER = "user";
const HOME = "/home/user";
/** Templates of small images have no bash. */
const LOGIN_SHELL = '"$(command -v bash || command -v sh)" -l';

/** Throws a fault of an instruction, or of what all stands on. */
export function translateTemplate({
  fromImage,
  fromTemplate,
  fromImageRegistry,
  base,
  ...body
}: KeptTemplate): TranslatedTemplate {
  if (fromImageRegistry !== undefined) throw loginRefused(fromImage ?? "");
  const from = originOf(fromTemplate, fromImage);
  const translation = new Translation({ base, isImage: "image" in from });
  for (const [index, step] of (body.steps ?? []).entries()) translation.add(step, index + 1);
  const start = startOf(body, translation.finish());
  // With us all of a build uses the cache, or nothing of it.
  const isForced = body.force === true || (body.steps ?? []).some(({ force }) => force === true);
  const { steps, hashes, instructions, instructionOfStep } = translation;
  return {
    request: {
      ...{ ...from, steps, context: hashes.length > 0 },
      ...(isForced && { no_cache: true }),
      ...(start !== undefined && { start }),
    },
    ...{ hashes, instructions, instructionOfStep, start: translation.start },
  };
}

function originOf(template: string | undefined, image = "e2bdev/base"): { from: string } | { image: string } {
  const own = IMAGES.get(image.replace(/^(?:docker\.io\/)?/, "").replace(/:latest$/, ""));
  const from = template ?? own;
  return from === undefined ? { image } : { from };
}

function loginRefused(image: string): TemplateFault {
  return new TemplateFault(
    0,
    `The login of a registry that comes with a build is not taken here: give it once by \`skerry registry login\`, and name the image "${image.slice(0, 100)}" alone.`,
  );
}

/** Of one instruction; 0 is what the template stands on. */
export class TemplateFault extends SkerryError {
  readonly instruction: number;

  constructor(instruction: number, message: string) {
    super("invalid_build", message);
    this.instruction = instruction;
  }
}

class Translation {
  readonly steps: NativeStep[] = [];
  readonly hashes: string[] = [];
  readonly instructions: number[] = [];
  readonly instructionOfStep: number[] = [];
  readonly #env = new Map([["PATH", PATH]]);
  #user: string;
  #workdir: string | null;
  #instruction = 0;
  #expandedChars = 0;

  /** `base`: undefined for a template that is built in, or not of these clients. `isImage`: there is no user of E2B's yet. */
  constructor({ base, isImage }: { readonly base: TemplateBase | undefined; readonly isImage: boolean }) {
    for (const [name, value] of Object.entries(base?.env ?? {})) this.#env.set(name, value);
    this.#user = base?.user ?? E2B_USER;
    this.#workdir = base?.workdir ?? null;
    if (isImage) {
      // What the image is pulled by.
      this.instructions.push(0);
      this.#run(madeUser(E2B_USER), "root");
    }
    this.#push({ user: this.#user });
    if (base === undefined) this.#push({ workdir: HOME });
  }

  get start(): TranslatedTemplate["start"] {
    return { user: this.#user, workdir: this.#workdir };
  }

  add({ type, args = [], filesHash }: Static<typeof Step>, instruction: number): void {
    this.#instruction = instruction;
    const [first = "", second = "", third = "", fourth = ""] = args;
    if (type === "RUN") return this.#runAs(second === "" ? this.#user : second, first);
    if (type === "ENV") return this.#setEnv(pairsOf(args));
    if (type === "USER") return this.#become(first);
    if (type === "WORKDIR") return this.#goTo(this.#expanded(first));
    if (type === "COPY")
      return this.#copy({ source: first, target: second, owner: third, mode: fourth }, filesHash);
    throw new TemplateFault(instruction, `There is no instruction "${type}" here.`);
  }

  /** Our own commands in its sandboxes begin as root, and become the user that each of them is for. Returns whom the template starts as. */
  finish(): string {
    if (this.#user !== "root") this.#push({ user: "root" });
    return this.#user;
  }

  #push(step: NativeStep): void {
    this.steps.push(step);
    this.instructionOfStep.push(this.#instruction);
    if (step.env === undefined && step.user === undefined) this.instructions.push(this.#instruction);
  }

  /** `before`: of the shell that becomes the user's login shell. */
  #run(command: string, user: string, before = ""): void {
    if (command.trim() === "") throw new TemplateFault(this.#instruction, "The command is empty.");
    if (user !== this.#user) this.#push({ user });
    this.#push({ run: `${before}exec ${LOGIN_SHELL} -c ${quoted(command)}` });
    if (user !== this.#user) this.#push({ user: this.#user });
  }

  /** Without a folder of the template's, each user's commands begin in that one's home. */
  #runAs(user: string, command: string): void {
    const isAway = this.#workdir === null && user !== this.#user;
    this.#run(command, user, isAway ? `cd ${quoted(homeOf(user))}; ` : "");
  }

  #setEnv(pairs: Readonly<Record<string, string>>): void {
    const values = Object.entries(pairs).map(([name, value]) => [name, this.#expanded(value)] as const);
    for (const [name, value] of values) this.#env.set(name, value);
    this.#push({ env: Object.fromEntries(values) });
  }

  /** One that is not there is made, with a home, and becomes root without a password, as with E2B. A folder of the template's stays. */
  #become(user: string): void {
    const [name = ""] = user.split(":");
    const isNamed = name !== "root" && !/^\d+$/.test(name);
    if (user !== this.#user && isNamed) this.#run(madeUser(name), "root");
    this.#user = user;
    this.#push({ user });
    if (this.#workdir === null && (isNamed || name === "root")) this.#push({ workdir: homeOf(user) });
  }

  /** With what is known of the variables that it names. */
  #expanded(text: string): string {
    return text.replaceAll(VARIABLE, (whole, braced?: string, bare?: string) => {
      const name = braced ?? bare;
      if (name === undefined) return "$";
      const value = name === "HOME" ? (this.#env.get(name) ?? homeOf(this.#user)) : this.#env.get(name);
      this.#expandedChars += value?.length ?? 0;
      if (this.#expandedChars > EXPANDED_MAX_CHARS)
        throw new TemplateFault(this.#instruction, "The values of the variables are too long together.");
      if (value !== undefined) return value;
      throw new TemplateFault(
        this.#instruction,
        `The value of "${whole.slice(0, 100)}" is not known here: set the variable in an earlier instruction, or write "\\$" for a "$".`,
      );
    });
  }

  /** A folder that is made for it is the user's. */
  #goTo(path: string): void {
    this.#run(
      `[ -d ${quoted(path)} ] || { mkdir -p ${quoted(path)} && chown ${quoted(this.#user)} ${quoted(path)}; }`,
      "root",
    );
    this.#workdir = posix.resolve(this.#workdir ?? homeOf(this.#user), path);
    this.#push({ workdir: path });
  }

  #copy(asked: Copy, hash: string | undefined): void {
    if (hash === undefined || asked.source === "" || asked.target === "")
      throw new TemplateFault(this.#instruction, "COPY needs a source, a target and the hash of its files.");
    if (!this.hashes.includes(hash)) this.hashes.push(hash);
    const place = `/var/tmp/.copy-${this.#instruction}`;
    this.#push({ copy: { from: hash, to: `${place}/files` } });
    this.#run(copyScript(asked, place, asked.owner === "" ? this.#user : asked.owner), "root");
  }
}

/** With the tools of Debian and of others, or with those of Alpine. */
function madeUser(name: string): string {
  const user = quoted(name);
  const rule = quoted(`${name} ALL=(ALL:ALL) NOPASSWD: ALL`);
  return [
    `id -u ${user} >/dev/null 2>&1 && exit 0`,
    `if command -v useradd >/dev/null; then useradd -m -s "$(command -v bash || echo /bin/sh)" ${user}; else adduser -D ${user}; fi || exit`,
    `if [ -d /etc/sudoers.d ]; then echo ${rule} >/etc/sudoers.d/${user} && chmod 440 /etc/sudoers.d/${user}; fi`,
  ].join("\n");
}

/** That images and templates have unless they say otherwise. */
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** `\$`, which is no variable, `${NAME}` and `$NAME`. A brace that nothing closes reaches to the end, and no variable has such a name: were it looked for
 *  from each `${` anew, a long text would hold up the whole process. */
const VARIABLE = /\\\$|\$\{([^}]*)(?:\}|$)|\$([A-Za-z_][A-Za-z0-9_]*)/g;

function homeOf(user: string): string {
  const [name = ""] = user.split(":");
  return name === "root" || name === "0" ? "/root" : `/home/${name}`;
}

interface Copy {
  readonly source: string;
  readonly target: string;
  readonly owner: string;
  readonly mode: string;
}

/** The first entry beside the source, which is what the client has packed: the content of a folder goes into the target, a file becomes it. */
function copyScript({ source, target, mode }: Copy, place: string, owner: string): string {
  const files = `${place}/files`;
  const folder = posix.dirname(posix.join(files, withoutPattern(source)));
  const group = owner.includes(":") ? owner : `${owner}:${owner}`;
  const permit = mode === "" ? ":" : `chmod -R ${quoted(mode)} "$e"`;
  return [
    "set -e",
    `t=${quoted(target)}; case $t in /*) ;; *) t=$PWD/$t ;; esac`,
    `cd ${quoted(folder)}`,
    `e=$(ls -A | head -n 1); [ -n "$e" ] || { echo "nothing was copied" >&2; exit 1; }`,
    `chown -hR ${quoted(group)} "$e"`,
    `if [ -d "$e" ] && [ ! -L "$e" ]; then ${permit}; mkdir -p "$t"; cp -a "$e/." "$t/"`,
    `else [ -L "$e" ] || ${permit}; case $t in */) mkdir -p "$t" ;; *) mkdir -p "$(dirname "$t")" ;; esac; mv -f "$e" "$t"; fi`,
    `cd /; rm -rf ${quoted(place)}`,
  ].join("\n");
}

/** The path before the first name that is a pattern. */
function withoutPattern(source: string): string {
  const names = source.split("/");
  const first = names.findIndex((name) => /[*?[{]/.test(name));
  return first === -1 ? source : names.slice(0, first).join("/") || ".";
}

function pairsOf(args: readonly string[]): Record<string, string> {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < args.length; at += 2) pairs.push([args[at] ?? "", args[at + 1] ?? ""]);
  return Object.fromEntries(pairs);
}

/** With them a start that nothing waits for has 20 seconds. */
const READY_DEFAULT = "sleep 20";

function startOf({ startCmd = "", readyCmd = "" }: TemplateBody, user: string): BuildRequest["start"] {
  if (startCmd === "" && readyCmd === "") return undefined;
  const command =
    startCmd === "" ? "exec sleep infinity" : asUser(`${LOGIN_SHELL} -c ${quoted(startCmd)}`, user);
  return { command, ready: readyOf(readyCmd === "" ? READY_DEFAULT : readyCmd) };
}

/** `user` was checked by the plan of its step. */
function asUser(command: string, user: string): string {
  if (user === "root") return `exec ${command}`;
  const [name = ""] = user.split(":");
  const home = `"$(getent passwd ${quoted(name)} | cut -d: -f6)"`;
  return `exec runuser -u ${quoted(name)} -- env HOME=${home} USER=${quoted(name)} ${command}`;
}

/** What `waitForPort` of the clients writes is asked from outside, so that the template needs no `ss`. */
function readyOf(command: string): NonNullable<NonNullable<BuildRequest["start"]>["ready"]> {
  const [, port] = /^\[ -n "\$\(ss -Htuln sport = :(\d{1,5})\)" \]$/.exec(command) ?? [];
  return port === undefined
    ? { command: `exec ${LOGIN_SHELL} -c ${quoted(command)}` }
    : { port: Number(port) };
}
