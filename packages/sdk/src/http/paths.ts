// Where things are below the base address. What goes into a path comes from callers, and URL parsers fold `..` even
// when it is percent-encoded, so nothing that could climb out of its place may get in.

import { SkerryInputError } from "../errors/errors.ts";

/** Where the things are that have a microVM. */
export type VmCollection = "/v1/sandboxes" | "/v1/machines";

export function vmPath(collection: VmCollection, id: string): string {
  return `${collection}/${segment(id)}`;
}

/** An execution of the VM at this path. */
export function executionPath(vm: string, id: string): string {
  return `${vm}/executions/${segment(id)}`;
}

export function buildPath(id: string): string {
  return `/v1/builds/${segment(id)}`;
}

/** A file in the microVM at this path of the API. `path` is absolute in the VM. */
export function filePath(vm: string, path: string): string {
  if (path.endsWith("/"))
    throw new SkerryInputError(
      `The path "${path}" names a directory, not a file.`,
      "Add the name of the file.",
    );
  return directoryPath(vm, path);
}

/** A directory of a sandbox: `/` is the root, a slash at the end says nothing more. */
export function directoryPath(vm: string, path: string): string {
  return pathUnder(`${vm}/files`, path);
}

/** What this path of the API has for a path in the VM. */
export function pathUnder(base: string, path: string): string {
  checkAbsolute(path);
  const segments = path.split("/").filter((part) => part !== "" && part !== ".");
  return `${base}/${segments.map(segment).join("/")}`;
}

export function checkAbsolute(path: string): void {
  if (path.startsWith("/")) return;
  throw new SkerryInputError(
    `The path "${path}" is not absolute.`,
    "Begin it with a slash, such as /root/data.",
  );
}

/** A part of a path, percent-encoded. Throws `SkerryInputError` for what could climb out of it. */
export function segment(text: string): string {
  if (text === "" || text === "." || text === "..")
    throw new SkerryInputError(
      text === "" ? "An id is empty." : `"${text}" cannot be part of a path.`,
      "Give the id or the name of what is meant, or the whole absolute path of a file.",
    );
  try {
    return encodeURIComponent(text);
  } catch {
    // A lone surrogate has no UTF-8 form.
    throw new SkerryInputError(
      "The path is not valid Unicode.",
      "Rename the file, or pack it with `tar` by a command in the VM.",
    );
  }
}
