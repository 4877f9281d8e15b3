import { readUrlPath } from "../../values/paths.ts";

const FILES_PREFIX = /^\/v1\/[a-z]+\/[^/?]+\/files\//;

/** The part of a URL that names the file, percent-encoded: the router's own copy is decoded already, and `%2541` must stay `%41`. */
export function encodedFilePath(url: string): string {
  const query = url.indexOf("?");
  return (query < 0 ? url : url.slice(0, query)).replace(FILES_PREFIX, "");
}

/** The path for the audit log; undefined where it is none. */
export function filePathOf({ url }: { readonly url: string }): string | undefined {
  try {
    return readUrlPath(encodedFilePath(url));
  } catch {
    return undefined;
  }
}
