// Which path an error is about. A host refuses in words that are the same for every path: what was asked for is known here.

import { SkerryError, type ErrorCode } from "@skerry/contract/errors";

/** Of a path in a message; the context has all of it. */
const SHOWN_MAX_CHARS = 200;

/** What to do, where the host does not say it. */
const remedies: { readonly [Code in ErrorCode]?: string } = {
  file_not_found: "List the directory above it to see what is there.",
  workdir_not_found: "Create it first, or leave `workdir` out for the home directory.",
  path_is_directory:
    "Name a file in it; a whole directory is downloaded as an archive, and listed by its own call.",
  path_not_directory: "Name a directory, or the directory above.",
};

const sentences: { readonly [Code in ErrorCode]?: (path: string) => string } = {
  file_not_found: (path) => `There is no file or directory "${path}" in the VM.`,
  workdir_not_found: (path) => `The working directory "${path}" does not exist in the VM.`,
  path_is_directory: (path) => `"${path}" is a directory.`,
  path_not_directory: (path) => `A part of "${path}", or all of it, is not a directory.`,
  directory_not_empty: (path) => `The directory "${path}" is not empty.`,
  path_not_file: (path) => `"${path}" is not a regular file.`,
  permission_denied: (path) => `The VM's file system does not permit this at "${path}".`,
};

/** The same error, with the path in its message and in its context; any other error as it is. */
export function withPath(error: unknown, path: string): unknown {
  const sentence = error instanceof SkerryError ? sentences[error.code] : undefined;
  if (!(error instanceof SkerryError) || sentence === undefined) return error;
  const shown = path.length > SHOWN_MAX_CHARS ? `${path.slice(0, SHOWN_MAX_CHARS).toWellFormed()}…` : path;
  const remediation = error.remediation ?? remedies[error.code];
  return new SkerryError(error.code, sentence(shown), {
    ...(remediation === undefined ? {} : { remediation }),
    context: { ...error.context, path },
    cause: error,
  });
}
