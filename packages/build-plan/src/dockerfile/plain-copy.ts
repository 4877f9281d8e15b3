// COPY and ADD for the builder's buildah: documents are files beside the context, and `--parents` is a copy
// for each source.

import { DOCUMENTS } from "./dockerfile-document.ts";
import { FlagFault } from "./dockerfile-flags.ts";
import { chomped, isJson, readHeredoc } from "./dockerfile-heredocs.ts";
import type { MountScope } from "./dockerfile-mounts.ts";
import { expanded, rawWords, unquoted } from "./dockerfile-words.ts";
import { documentName, type MadeInstruction, type SaidInstruction } from "./plain-run.ts";

export interface CopyScope extends MountScope {
  /** Folder of the documents of this instruction. */
  readonly folder: string;
}

/** Undefined where it is as buildah reads it, but for its flags. */
export function plainCopy(said: SaidInstruction, scope: CopyScope): MadeInstruction | undefined {
  const { word, after, flags, heredocs } = said;
  const words = isJson(after) ? (JSON.parse(after) as string[]) : rawWords(after);
  if (words === undefined) return undefined;
  if (word === "ADD") refuseRepositories(words.slice(0, -1));
  if (heredocs.length > 0) return withDocuments(said, words, scope);
  return flags.hasParents ? withParents(said, words.map(unquoted)) : undefined;
}

/** Buildah would load the page of that address. */
function refuseRepositories(sources: readonly string[]): void {
  const repository = sources.find((source) =>
    /^["']?(?:git@|git:\/\/|ssh:\/\/|https?:\/\/[^#?]*\.git(?:[#?]|["']?$))/.test(source),
  );
  if (repository === undefined) return;
  throw new FlagFault(
    `has the repository ${repository.slice(0, 200)}, which builds do not clone so`,
    "Clone it by a RUN.",
  );
}

function withDocuments(
  { word, flags, heredocs }: SaidInstruction,
  words: readonly string[],
  scope: CopyScope,
): MadeInstruction {
  const target = words.at(-1) ?? "";
  if (readHeredoc(target) !== undefined)
    throw new FlagFault(
      "has a document as its target",
      "Behind the documents it needs the path that they are copied to.",
    );
  const files = words.slice(0, -1).filter((source) => readHeredoc(source) === undefined);
  if (flags.hasParents && files.length > 0)
    throw new FlagFault("has `--parents` and documents", "Copy them by instructions of their own.");
  const texts = new Map(heredocs.map((one) => [documentName(one.name), one]));
  const documents = [...texts].map(([name, heredoc]) => ({
    path: `${scope.folder}/${name}`,
    text: heredoc.isExpanded ? expanded(chomped(heredoc), scope.lookup, { quotes: false }) : chomped(heredoc),
    isProgram: false,
  }));
  const own = flags.kept.filter((flag) => !flag.startsWith("--from="));
  const copied = ["COPY", ...own, `--from=${DOCUMENTS}`, ...documents.map(({ path }) => path), target];
  const others = files.length === 0 ? [] : [[word, ...flags.kept, ...files, target].join(" ")];
  return { lines: [...others, copied.join(" ")], documents };
}

function withParents({ word, flags }: SaidInstruction, words: readonly string[]): MadeInstruction {
  const target = (words.at(-1) ?? "").replace(/\/+$/, "");
  const lines = words.slice(0, -1).map((source) => {
    if (/[*?[\\]/.test(source))
      throw new FlagFault(
        "has `--parents` with a pattern, which builds do not have",
        "Name the folders or files themselves.",
      );
    const below = source.slice(source.indexOf("/./") < 0 ? 0 : source.indexOf("/./") + 3);
    const path = below
      .split("/")
      .filter((name) => name !== "" && name !== ".")
      .join("/");
    return [word, ...flags.kept, JSON.stringify([source, `${target}/${path}`])].join(" ");
  });
  return { lines, documents: [] };
}
