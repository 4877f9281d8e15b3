// RUN for the builder's buildah: a document is the command's text, or a program where it begins with `#!`.

import { DOCUMENTS, PROGRAM_FOLDER, type DockerfileDocument } from "./dockerfile-document.ts";
import { FlagFault, type PlainFlags } from "./dockerfile-flags.ts";
import { chomped, isJson, readHeredoc, type HeredocText } from "./dockerfile-heredocs.ts";
import { quoted } from "@skerry/contract/shell-words";

export interface SaidInstruction {
  readonly word: string;
  /** Behind its flags. */
  readonly after: string;
  readonly flags: PlainFlags;
  readonly heredocs: readonly HeredocText[];
}

export interface MadeInstruction {
  readonly lines: readonly string[];
  readonly documents: readonly DockerfileDocument[];
}

interface RunScope {
  readonly folder: string;
  readonly shell: readonly string[];
}

interface Command {
  /** Command for a shell; undefined of the exec form. */
  readonly text?: string;
  readonly words: readonly string[];
}

/** Undefined where it is as buildah reads it, but for its flags. */
export function plainRun(said: SaidInstruction, { folder, shell }: RunScope): MadeInstruction | undefined {
  const { after, flags, heredocs } = said;
  if (heredocs.length === 0 && flags.variables.length === 0) return undefined;
  const program = programOf(said, folder);
  const flagged = [...flags.kept, ...(program === undefined ? [] : [mountOf(folder)])];
  const command =
    program === undefined
      ? commandOf(after, heredocs)
      : { words: [`${PROGRAM_FOLDER}/${program.path.slice(folder.length + 1)}`] };
  const words = withVariables(command, flags.variables, shell);
  return {
    lines: [["RUN", ...flagged, JSON.stringify(words)].join(" ")],
    documents: program === undefined ? [] : [program],
  };
}

/** The document that is all of the command, and says what runs it. */
function programOf({ after, heredocs }: SaidInstruction, folder: string): DockerfileDocument | undefined {
  const [only, ...others] = heredocs;
  if (only === undefined || others.length > 0 || readHeredoc(after) === undefined) return undefined;
  if (!only.content.startsWith("#!")) return undefined;
  return { path: `${folder}/${documentName(only.name)}`, text: chomped(only), isProgram: true };
}

/** A name that is no other path. */
export function documentName(name: string): string {
  if (/^[\w.+@%=:-]{1,200}$/.test(name) && !/^\.{1,2}$/.test(name)) return name;
  throw new FlagFault(
    `has a document with the name ${JSON.stringify(name.slice(0, 200))}, which is no name of a file here`,
    "Name it by letters, digits, `.`, `_` and `-`.",
  );
}

function mountOf(folder: string): string {
  return `--mount=type=bind,from=${DOCUMENTS},source=${folder},target=${PROGRAM_FOLDER}`;
}

function commandOf(after: string, heredocs: readonly HeredocText[]): Command {
  const [first, ...others] = heredocs;
  if (first !== undefined && others.length === 0 && readHeredoc(after) !== undefined)
    return { text: chomped(first), words: [] };
  if (isJson(after)) return { words: JSON.parse(after) as string[] };
  // The shell itself reads them.
  const texts = heredocs.map(({ name, content }) => `\n${content}${name}`);
  return { text: `${after}${texts.join("")}`, words: [] };
}

const POSIX_SHELL = /(^|\/)(ba|da|a|z|k|mk)?sh$/;

/** A shell in the command's place reads the secret byte for byte. */
function withVariables(
  { text, words }: Command,
  variables: PlainFlags["variables"],
  shell: readonly string[],
): readonly string[] {
  const own = text === undefined ? words : [...shell, text];
  if (variables.length === 0) return own;
  const isPosix = POSIX_SHELL.test(shell[0] ?? "");
  if (text !== undefined && !isPosix)
    throw new FlagFault(
      `has a secret in a variable, which the shell ${shell[0]} cannot be given`,
      "Read it from its file.",
    );
  const set = variables.map(
    ({ name, path }) =>
      `if [ -f ${quoted(path)} ]; then ${name}=$(cat ${quoted(path)}; echo x); export ${name}="\${${name}%x}"; fi\n`,
  );
  if (text !== undefined) return [...shell, `${set.join("")}${text}`];
  return ["/bin/sh", "-c", `${set.join("")}exec "$@"`, "sh", ...words];
}
