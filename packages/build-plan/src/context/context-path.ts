// Paths in a context, as a request names them.

import { SkerryError } from "@skerry/contract/errors";

const PATH_MAX_CHARS = 4_095;

/** This path without what changes nothing (`./a//b/` is `a/b`, and the context itself is `.`); throws where it leaves the context. */
export function contextPath(path: string, field: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const fault = contextPathFault(path, parts);
  if (fault !== undefined)
    throw new SkerryError("invalid_build", `${field}: ${JSON.stringify(path.slice(0, 200))} ${fault}.`, {
      remediation: "Name a path relative to the folder that is built, such as `src/main.py`.",
    });
  return parts.length === 0 ? "." : parts.join("/");
}

function contextPathFault(path: string, parts: readonly string[]): string | undefined {
  if (path === "") return "is empty";
  if (path.length > PATH_MAX_CHARS) return `has more than ${PATH_MAX_CHARS} characters`;
  if (path.startsWith("/")) return "is absolute";
  if (parts.includes("..")) return "leads out of the folder";
  if (/[\0\n]/.test(path)) return "has a line break or a NUL";
  return undefined;
}
