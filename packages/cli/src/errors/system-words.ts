// Failures of this machine's file system, as sentences. The system has a name for each; what people need is the file and what is wrong with it.

import { basename, dirname } from "node:path";
import type { Failure } from "./failure.ts";

type Words = readonly [code: string, sentence: (path: string) => string, remedy?: string];

const words: Readonly<Record<string, Words>> = {
  ENOENT: ["no_such_file", (path) => `There is no file or directory ${path} on this machine.`],
  EACCES: [
    "permission_denied",
    (path) => `You may not use ${path}.`,
    "Look at its permissions, and at those of the folders above it.",
  ],
  EPERM: ["permission_denied", (path) => `The system does not allow this with ${path}.`],
  EROFS: ["read_only", (path) => `${path} is on a file system that cannot be written to.`],
  EISDIR: ["is_directory", (path) => `${path} is a directory.`],
  ENOTDIR: ["not_directory", (path) => `A part of ${path} is a file where a directory should be.`],
  EEXIST: ["already_exists", (path) => `${path} exists already.`],
  ENOTEMPTY: ["already_exists", (path) => `${path} is a directory that is not empty.`],
  ENOSPC: [
    "disk_full",
    (path) => `The disk of ${path} is full.`,
    "Make room, or choose a place on another disk.",
  ],
  EDQUOT: ["disk_full", (path) => `Your share of the disk of ${path} is used up.`],
  ENAMETOOLONG: ["name_too_long", (path) => `The name ${path} is too long for this machine.`],
  ELOOP: ["unexpected_link", (path) => `${path} is a link, or leads over too many; it is not followed.`],
  EMFILE: ["too_many_files", () => "This process has too many files open."],
  EIO: ["disk_broken", (path) => `The disk of ${path} could not be read or written.`],
};

/** Undefined where the error is none of the file system. */
export function systemFailure(error: Error): Failure | undefined {
  if (!("syscall" in error) || !("code" in error)) return undefined;
  const { code } = error;
  if (typeof code !== "string" || !Object.hasOwn(words, code))
    return { code: String(code), message: error.message };
  const [ownCode, sentence, remediation] = words[code] as Words;
  return { code: ownCode, message: sentence(pathOf(error)), remediation };
}

/** Of a file that is written beside its place, the folder: the user has never heard of the other name. */
function pathOf(error: Error & { readonly path?: unknown }): string {
  if (typeof error.path !== "string") return "a file";
  return /^\..+\.part$/.test(basename(error.path)) ? dirname(error.path) : error.path;
}
