// Where things are below the base address. What goes into a path comes from callers, and URL parsers fold `..` even
// when it is percent-encoded, so nothing that could climb out of its place may get in.

import { SkerryInputError } from "./errors.ts";

export function sandboxPath(id: string): string {
  return `/v1/sandboxes/${segment(id)}`;
}

export function templatePath(name: string): string {
  return `/v1/templates/${segment(name)}`;
}

export function hostPath(id: string): string {
  return `/v1/hosts/${segment(id)}`;
}

export function tokenPath(id: string): string {
  return `/v1/auth/tokens/${segment(id)}`;
}

export function organizationPath(id: string): string {
  return `/v1/orgs/${segment(id)}`;
}

export function membersPath(organizationId: string): string {
  return `${organizationPath(organizationId)}/members`;
}

export function memberPath(organizationId: string, userId: string): string {
  return `${membersPath(organizationId)}/${segment(userId)}`;
}

/** A file of a sandbox. `path` is absolute in the VM. */
export function filePath(id: string, path: string): string {
  if (path.endsWith("/")) throw new SkerryInputError(`The path "${path}" names a directory, not a file.`);
  return directoryPath(id, path);
}

/** A directory of a sandbox: `/` is the root, a slash at the end says nothing more. */
export function directoryPath(id: string, path: string): string {
  if (!path.startsWith("/"))
    throw new SkerryInputError(`The path "${path}" must be absolute, such as /root/data.`);
  const segments = path.split("/").filter((part) => part !== "" && part !== ".");
  return `${sandboxPath(id)}/files/${segments.map(segment).join("/")}`;
}

function segment(text: string): string {
  if (text === "" || text === "." || text === "..")
    throw new SkerryInputError(text === "" ? "An id is empty." : `"${text}" cannot be part of a path.`);
  try {
    return encodeURIComponent(text);
  } catch {
    // A lone surrogate has no UTF-8 form.
    throw new SkerryInputError("The path is not valid Unicode.");
  }
}
