// Where a copy comes to lie, by the rules of `docker cp`. Both directions have the same rules, so they are about words alone.

import { posix } from "node:path";
import { CliError } from "../../errors/errors.ts";

export type PathKind = "file" | "directory" | "other" | "none";

export interface CopySource {
  readonly path: string;
  /** A link that is copied as a link is a file. */
  readonly kind: PathKind;
  /** What it is called where it lies. */
  readonly name: string;
}

export interface CopyTarget {
  readonly path: string;
  /** Behind links. */
  readonly kind: PathKind;
  readonly isParentDirectory: boolean;
}

export interface Landing {
  /** A directory that is there. */
  readonly folder: string;
  /** What the copy is called in it; undefined where only what is in the source goes there. */
  readonly name: string | undefined;
}

export function landingOf(source: CopySource, target: CopyTarget): Landing {
  checkSource(source);
  const isDirectory = source.kind === "directory";
  if (target.kind === "directory") {
    const isContentOnly = isDirectory && (endsInDot(source.path) || source.name === "");
    return { folder: target.path, name: isContentOnly ? undefined : source.name };
  }
  if (target.kind === "none") checkNewPlace(target, isDirectory);
  else checkReplaced(source, target);
  return { folder: posix.dirname(target.path), name: posix.basename(target.path) };
}

function checkSource({ path, kind }: CopySource): void {
  if (kind === "none") throw refusal("no_such_file", `There is no ${path}.`);
  if (kind === "other") throw refusal("path_not_file", `${path} is neither a file nor a directory.`);
  if (kind === "file" && path.endsWith("/")) throw refusal("not_directory", `${path} is no directory.`);
}

function checkNewPlace({ path, isParentDirectory }: CopyTarget, isDirectory: boolean): void {
  if (!isDirectory && path.endsWith("/"))
    throw refusal(
      "no_such_directory",
      `There is no directory ${path}.`,
      "Make it first, or leave the slash at its end out.",
    );
  if (!isParentDirectory)
    throw refusal(
      "no_such_directory",
      `There is no directory ${posix.dirname(path)} to put it into.`,
      "Make it first: cp makes no directories above its target.",
    );
}

function checkReplaced(source: CopySource, target: CopyTarget): void {
  if (target.kind === "other")
    throw refusal(
      "path_not_file",
      `${target.path} is neither a file nor a directory.`,
      "`skerry sandbox download` writes to such places.",
    );
  if (source.kind === "directory")
    throw refusal(
      "not_directory",
      `The directory ${source.path} cannot take the place of the file ${target.path}.`,
    );
  if (target.path.endsWith("/")) throw refusal("not_directory", `${target.path} is no directory.`);
}

/** `dir/.`: only what is in it. */
export function endsInDot(path: string): boolean {
  return path === "." || path.endsWith("/.");
}

function refusal(code: string, message: string, remediation?: string): CliError {
  return new CliError(code, message, remediation === undefined ? {} : { remediation });
}
