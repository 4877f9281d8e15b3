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

/** Path of an execution whose output is kept. */
export function keptExecutionPath(id: string): string {
  return `/v1/executions/${segment(id)}`;
}

/** Of a snapshot, by id or name. */
export function snapshotPath(idOrName: string): string {
  return `/v1/snapshots/${segment(idOrName)}`;
}

export function templatePath(name: string): string {
  return `/v1/templates/${segment(name)}`;
}

export function templatePreparePath(name: string): string {
  return `${templatePath(name)}/prepare`;
}

export function templatePushPath(name: string): string {
  return `${templatePath(name)}/push`;
}

export function templateTagPath(name: string, tag: string): string {
  return `${templatePath(name)}/tags/${segment(tag)}`;
}

export function buildPath(id: string): string {
  return `/v1/builds/${segment(id)}`;
}

/** Of the credentials of a registry. */
export function registryPath(host: string): string {
  return `/v1/registry-credentials/${segment(host)}`;
}

export function buildSecretPath(id: string, name: string): string {
  return `${buildPath(id)}/secrets/${segment(name)}`;
}

export function hostPath(id: string): string {
  return `/v1/hosts/${segment(id)}`;
}

export function movePath(id: string): string {
  return `/v1/moves/${segment(id)}`;
}

export function backgroundServicePath(name: string): string {
  return `/v1/background-services/${segment(name)}`;
}

export function tokenPath(id: string): string {
  return `/v1/auth/tokens/${segment(id)}`;
}

export function organizationPath(id: string): string {
  return `/v1/orgs/${segment(id)}`;
}

export function organizationLimitsPath(id: string): string {
  return `${organizationPath(id)}/limits`;
}

export function membersPath(organizationId: string): string {
  return `${organizationPath(organizationId)}/members`;
}

export function memberPath(organizationId: string, userId: string): string {
  return `${membersPath(organizationId)}/${segment(userId)}`;
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

function segment(text: string): string {
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
