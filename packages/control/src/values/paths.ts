// Paths in a sandbox, checked before they travel. The guest checks again; it alone knows its links.

import { SkerryError } from "@skerry/contract/errors";
import { PATH_MAX_BYTES } from "@skerry/contract/bounds";

/** The absolute path that the rest of a URL names: percent-decoded exactly once, the first slash put back. */
export function readUrlPath(encoded: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(encoded);
  } catch (cause) {
    throw new SkerryError("invalid_path", "The path is not percent-encoded UTF-8.", {
      remediation: "Encode each part of the path, for example `my%20file.txt`.",
      cause,
    });
  }
  return checkPath("path", `/${decoded}`);
}

/** An absolute path without `..` and NUL that Linux can open, or `invalid_path`. */
export function checkPath(field: string, path: string): string {
  const fault = faultOf(path);
  if (fault === undefined) return path;
  throw new SkerryError("invalid_path", `"${field}" ${fault}.`, { context: { field } });
}

function faultOf(path: string): string | undefined {
  if (!path.startsWith("/")) return "must be an absolute path, such as `/root`";
  if (path.includes("\0")) return "has a NUL character";
  if (!path.isWellFormed()) return "is not valid Unicode";
  if (path.split("/").includes("..")) return "has a `..` segment";
  if (Buffer.byteLength(path) > PATH_MAX_BYTES) return `is longer than ${PATH_MAX_BYTES} bytes`;
  return undefined;
}
