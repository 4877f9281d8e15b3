// A Dockerfile in groups of instructions that are carried out, and cached, one after the other: each is a Dockerfile of its own, which begins on the disk
// that the one before has left, with environment, user and folder as they were then. What else holds for later commands or for the image (ARG, SHELL, CMD …)
// stands in every later one again. A file that changes costs the groups from its COPY on.

import { GROUP_BEFORE } from "@skerry/contract/templates/template-name";
import { contextPath } from "../context/context-path.ts";
import type { DockerfileDocument } from "./dockerfile-document.ts";
import type { Instruction } from "./dockerfile-instructions.ts";
import { IGNORE_FILES } from "../context/dockerignore.ts";
import type { PlainDockerfile, PlainInstruction } from "./plain-dockerfile.ts";

export interface DockerfileGroup {
  /** Text that buildah reads. */
  readonly text: string;
  readonly documents: readonly DockerfileDocument[];
  /** The instructions that are its own, as they were written. */
  readonly shown: string;
  /** All instructions of `text`, in its order. */
  readonly carried: readonly PlainInstruction[];
  /** Paths of the context that it reads. */
  readonly inputs: readonly string[];
}

/** Of one Dockerfile: each is a step, whose script is kept with the build. What is beyond is in the last one. */
const GROUPS_MAX = 20;

/** They come with the disk. */
const WITH_THE_DISK: ReadonlySet<string> = new Set(["ENV", "USER", "WORKDIR"]);

const REPEATED: ReadonlySet<string> = new Set([
  ...["ARG", "CMD", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "SHELL", "STOPSIGNAL"],
]);

const COPIES: ReadonlySet<string> = new Set(["ADD", "COPY"]);

/** Undefined where it is carried out as a whole: it has several stages or one of our own name, takes files
 *  from elsewhere, or has one group alone. */
export function dockerfileGroups({
  escape,
  instructions,
}: Pick<PlainDockerfile, "escape" | "instructions">): readonly DockerfileGroup[] | undefined {
  const begin = instructions.findIndex(({ word }) => word === "FROM");
  const from = instructions[begin];
  if (escape !== "\\" || from === undefined) return undefined;
  const args = instructions.slice(0, begin);
  const [, as] = /^[^\s-]\S*(\s+AS\s+\S+)?$/i.exec(from.rest) ?? [undefined, null];
  const own = instructions.slice(begin + 1);
  const inputs = own.map(inputsOf);
  const bounds = boundsOf(own).slice(0, GROUPS_MAX);
  if (
    as === null ||
    isOurs(as) ||
    args.some(({ word }) => word !== "ARG") ||
    inputs.includes(undefined) ||
    bounds.length < 2
  )
    return undefined;
  return bounds.map((start, index) => {
    const end = bounds[index + 1] ?? own.length;
    const group = own.slice(start, end);
    const repeated = own.slice(0, start).filter(({ word }) => REPEATED.has(word));
    const first = index === 0 ? from.plain : `FROM ${GROUP_BEFORE}${as ?? ""}`;
    return {
      text: `${plainOf(args)}${first}\n${plainOf([...repeated, ...group])}`,
      carried: [...args, from, ...repeated, ...group],
      documents: group.flatMap(({ documents }) => documents),
      shown: group.map(({ text }) => `${text}\n`).join(""),
      inputs: withIgnoreFiles(new Set(inputs.slice(start, end).flatMap((each) => each ?? []))),
    };
  });
}

/** A later group would begin on its own stage. Names of stages count in any case. */
function isOurs(as = ""): boolean {
  return as.trim().split(/\s+/).at(-1)?.toLowerCase() === GROUP_BEFORE;
}

/** They decide what of a folder is copied. All of the context has them among the rest. */
function withIgnoreFiles(inputs: ReadonlySet<string>): readonly string[] {
  return inputs.size === 0 || inputs.has(".") ? [...inputs] : [...inputs, ...IGNORE_FILES];
}

/** Where groups begin: at what copies, behind a command. */
function boundsOf(instructions: readonly Instruction[]): readonly number[] {
  const bounds = [0];
  let hasRun = false;
  for (const [index, { word }] of instructions.entries()) {
    if (COPIES.has(word) && hasRun) {
      bounds.push(index);
      hasRun = false;
    }
    hasRun ||= word === "RUN";
  }
  return bounds;
}

function plainOf(instructions: readonly PlainInstruction[]): string {
  return instructions.map(({ plain }) => `${plain}\n`).join("");
}

/** Undefined where the instruction cannot be in a group: what it does shows only with the others, or is not known by the context. */
function inputsOf({ word, rest }: Instruction): readonly string[] | undefined {
  if (REPEATED.has(word) || WITH_THE_DISK.has(word)) return [];
  if (/(^|\s)--from=/.test(rest)) return undefined;
  if (word === "RUN") return runInputs(rest);
  return COPIES.has(word) ? copyInputs(rest) : undefined;
}

/** A mount reads the context unless it says that it is of another kind. */
function runInputs(rest: string): readonly string[] | undefined {
  const mounts = rest.match(/(?<=^|\s)--mount=\S*/g) ?? [];
  if (mounts.some((mount) => /[=,]from=/.test(mount))) return undefined;
  return mounts.every((mount) => /[=,]type=(cache|secret|tmpfs)(,|$)/.test(mount)) ? [] : ["."];
}

/** All of the context where the paths are not simply named. */
function copyInputs(rest: string): readonly string[] | undefined {
  if (/:\/\/|git@/.test(rest)) return undefined;
  const words = rest.split(/\s+/).filter((word) => !word.startsWith("--"));
  // A document is in the step itself.
  const sources = words.slice(0, -1).filter((word) => !/^\d*<</.test(word));
  if (sources.length === 0 && words.length > 1) return [];
  if (sources.length === 0 || /["'\\$*?[\]]/.test([...sources, ...words.slice(-1)].join(" "))) return ["."];
  const named = sources.map((source) => source.replace(/^\/+/, ""));
  try {
    return named.map((source) => contextPath(source === "" ? "." : source, "COPY"));
  } catch {
    return ["."];
  }
}
