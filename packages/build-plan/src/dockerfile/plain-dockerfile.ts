// A Dockerfile of today, as the builder's buildah reads it, which is older: documents become commands or
// files beside the context, what changes nothing is left out, and what cannot be done is refused with its
// line before anything is sent.

import { SkerryError } from "@skerry/contract/errors";
import type { DockerfileDocument } from "./dockerfile-document.ts";
import { FlagFault, plainFlags, splitFlags } from "./dockerfile-flags.ts";
import { withoutOnbuild } from "./dockerfile-heredocs.ts";
import { readDockerfile, type Instruction } from "./dockerfile-instructions.ts";
import { DockerfileScope, type ScopeParts } from "./dockerfile-scope.ts";
import { ExpansionFault } from "./dockerfile-words.ts";
import { plainCopy, type CopyScope } from "./plain-copy.ts";
import { plainRun, type MadeInstruction, type SaidInstruction } from "./plain-run.ts";

export interface PlainInstruction extends Instruction {
  /** Text that buildah reads. */
  readonly plain: string;
  readonly documents: readonly DockerfileDocument[];
  /** How many instructions buildah finds in `plain`. */
  readonly parts: number;
}

export interface PlainDockerfile {
  readonly escape: "\\" | "`";
  readonly instructions: readonly PlainInstruction[];
  /** The text itself where buildah reads all of it. */
  readonly text: string;
}

export interface DockerfileParts extends ScopeParts {
  /** Name of the file, for messages about it. */
  readonly file: string;
}

const WORDS: ReadonlySet<string> = new Set([
  ...["ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL"],
  ...["MAINTAINER", "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"],
]);

/** Throws `invalid_build` with the line. */
export function plainDockerfile(text: string, parts: DockerfileParts): PlainDockerfile {
  const { escape, instructions } = readDockerfile(text, (name, line) => {
    throw faultAt(
      { file: parts.file, line },
      `The document ${JSON.stringify(name)} has no end`,
      "It ends with a line that is its name alone.",
    );
  });
  const scope = new DockerfileScope(parts);
  const plain = instructions.map((instruction, index) => {
    const made = inPlace(parts.file, instruction, () => plainInstruction(instruction, scope, index));
    scope.take(instruction);
    return made;
  });
  const isSame = plain.every((one) => one.plain === one.text);
  const directive = escape === "`" ? "# escape=`\n" : "";
  return {
    escape,
    instructions: plain,
    text: isSame ? text : `${directive}${plain.map((one) => `${one.plain}\n`).join("")}`,
  };
}

function plainInstruction(instruction: Instruction, scope: DockerfileScope, index: number): PlainInstruction {
  const [word, rest] = withoutOnbuild(instruction.word, instruction.rest);
  if (!WORDS.has(instruction.word) || !WORDS.has(word))
    throw new FlagFault("is no instruction of a Dockerfile", "Look for a line before it that was to go on.");
  const isLater = instruction.word === "ONBUILD";
  const around: CopyScope = {
    // An instruction that a later stage carries out finds what holds there.
    lookup: isLater ? () => null : scope.lookup,
    workdir: isLater ? undefined : scope.workdir,
    folder: String(index),
  };
  const [flags, after] = splitFlags(rest);
  const own = plainFlags(word, flags, around);
  const said = { word, after, flags: own, heredocs: instruction.heredocs };
  const made = madeOf(said, { ...around, shell: scope.shell });
  if (made === undefined && own.kept.join(" ") === flags.join(" "))
    return { ...instruction, plain: instruction.text, documents: [], parts: 1 };
  const lines = made?.lines ?? [[word, ...own.kept, after].join(" ").trimEnd()];
  const plain = lines.map((line) => (isLater ? `ONBUILD ${line}` : line)).join("\n");
  return { ...instruction, plain, documents: made?.documents ?? [], parts: lines.length };
}

/** Undefined where at most its flags are others. */
function madeOf(
  said: SaidInstruction,
  scope: CopyScope & Pick<DockerfileScope, "shell">,
): MadeInstruction | undefined {
  if (said.word === "RUN") return plainRun(said, scope);
  return said.word === "COPY" || said.word === "ADD" ? plainCopy(said, scope) : undefined;
}

function inPlace<Made>(file: string, { line, word }: Instruction, make: () => Made): Made {
  try {
    return make();
  } catch (error) {
    if (error instanceof FlagFault)
      throw faultAt({ file, line }, `${word.slice(0, 50)} ${error.message}`, error.remediation);
    if (error instanceof ExpansionFault)
      throw faultAt(
        { file, line },
        `The document of ${word} ${error.message}`,
        "Set it by ARG or ENV before, or put the document's name into quotes (`<<'EOF'`) where it is to stay as it is.",
      );
    throw error;
  }
}

function faultAt(
  { file, line }: { readonly file: string; readonly line: number },
  fault: string,
  remediation: string,
): SkerryError {
  return new SkerryError("invalid_build", `${file}, line ${line}: ${fault}.`, { remediation });
}
