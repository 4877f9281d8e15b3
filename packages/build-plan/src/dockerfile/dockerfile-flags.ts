// Flags of a Dockerfile's instructions: which the builder's buildah has, which change nothing here and are
// left out, and which are refused by their name.

import type { MountScope, PlainMount } from "./dockerfile-mounts.ts";
import { MountFault, plainMount } from "./dockerfile-mounts.ts";

export interface PlainFlags {
  /** Flags that buildah gets. */
  readonly kept: readonly string[];
  /** Secrets that a command finds in variables. */
  readonly variables: readonly NonNullable<PlainMount["variable"]>[];
  /** `COPY --parents`: below its target each source has the folders of its path. */
  readonly hasParents: boolean;
}

/** The end of a sentence that begins with the instruction. */
export class FlagFault extends Error {
  override readonly name = "FlagFault";
  readonly remediation: string;

  constructor(message: string, remediation: string) {
    super(message);
    this.remediation = remediation;
  }
}

/** Splits an instruction into the flags that it begins with, and the rest. */
export function splitFlags(rest: string): readonly [flags: readonly string[], after: string] {
  const flags: string[] = [];
  let after = rest;
  for (;;) {
    const [whole, flag] = /^(--[A-Za-z](?:"[^"]*"|'[^']*'|\\.|[^\s"'\\])*)(?:\s+|$)/s.exec(after) ?? [];
    if (whole === undefined || flag === undefined) return [flags, after];
    flags.push(flag);
    after = after.slice(whole.length);
  }
}

type Verdict = "keep" | "drop" | "parents" | FlagFault;
type Judge = (value: string, flag: string) => Verdict;

const keep: Judge = () => "keep";
const drop: Judge = () => "drop";

const refuse =
  (why: string, remediation: string): Judge =>
  (_, flag) =>
    new FlagFault(`has \`${flag.split("=", 1)[0]}\`, ${why}`, remediation);

/** A switch, which may be off. */
const onlyOff =
  (judge: Judge): Judge =>
  (value, flag) =>
    ["false", "0"].includes(value) ? "drop" : judge(value, flag);

const chmod: Judge = (value) =>
  /^["']?(?:[0-7]{1,5}|.*\$.*)["']?$/.test(value)
    ? "keep"
    : new FlagFault(
        `has \`--chmod=${value}\`, and builds read permissions in octal digits alone`,
        "Write them as in --chmod=755.",
      );

const copies: Readonly<Record<string, Judge>> = {
  ...{ chown: keep, chmod, link: drop },
  exclude: refuse(
    "which builds do not have",
    "Name what is left out in .dockerignore, or copy what is wanted alone.",
  ),
};

const FLAGS: Readonly<Record<string, Readonly<Record<string, Judge>>>> = {
  COPY: { ...copies, from: keep, parents: onlyOff(() => "parents") },
  ADD: {
    ...copies,
    checksum: refuse(
      "which builds do not have",
      "Load the file by a RUN, and compare there: `curl -fLo FILE URL && echo 'SUM  FILE' | sha256sum -c`.",
    ),
    "keep-git-dir": onlyOff(refuse("which builds do not have", "Clone the repository by a RUN.")),
    unpack: refuse("which builds do not have", "Copy the archive, and unpack it by a RUN."),
  },
  RUN: {
    mount: keep,
    network: (value, flag) =>
      ["default", "host"].includes(value)
        ? "drop"
        : refuse("and builds cut no single command off", "What a whole build reaches is its `egress`.")(
            value,
            flag,
          ),
    security: (value, flag) =>
      value === "sandbox" ? "drop" : refuse("which builds do not have", "Leave it out.")(value, flag),
  },
  HEALTHCHECK: {
    ...{ interval: keep, timeout: keep, "start-period": keep, retries: keep },
    "start-interval": drop,
  },
  FROM: { platform: keep },
};

/** Throws `FlagFault`. Of an instruction that is not here, all are kept. */
export function plainFlags(word: string, flags: readonly string[], scope: MountScope): PlainFlags {
  const kept: string[] = [];
  const variables: NonNullable<PlainMount["variable"]>[] = [];
  let hasParents = false;
  for (const flag of flags) {
    const [name = "", value = ""] = /^--([^=]*)=?(.*)$/s.exec(flag)?.slice(1) ?? [];
    const verdict = judgeOf(word, name)(value, flag);
    if (verdict instanceof FlagFault) throw verdict;
    hasParents ||= verdict === "parents";
    if (verdict !== "keep") continue;
    if (word !== "RUN" || name !== "mount") kept.push(flag);
    else {
      const mount = readMount(value, scope);
      kept.push(`--mount=${mount.value}`);
      if (mount.variable !== undefined) variables.push(mount.variable);
    }
  }
  return { kept, variables, hasParents };
}

function judgeOf(word: string, name: string): Judge {
  const judges = FLAGS[word];
  if (judges === undefined) return keep;
  const judge = Object.hasOwn(judges, name) ? judges[name] : undefined;
  return judge ?? refuse("which builds do not know", "Leave it out.");
}

function readMount(value: string, scope: MountScope): PlainMount {
  try {
    return plainMount(value.replace(/^(["'])(.*)\1$/s, "$2"), scope);
  } catch (error) {
    if (!(error instanceof MountFault)) throw error;
    throw new FlagFault(`has \`--mount=${value.slice(0, 200)}\`, which ${error.message}`, error.remediation);
  }
}
