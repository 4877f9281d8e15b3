import { readUrlPath } from "../../values/paths.ts";

/** `files`, or another word for what is done there. */
const FILES_PREFIX = /^\/v1\/[a-z]+\/[^/?]+\/[a-z]+\//;

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

/** For the audit log, where it went too. */
export function changedPathOf({
  url,
  body,
}: {
  readonly url: string;
  readonly body: unknown;
}): string | undefined {
  const path = filePathOf({ url });
  const { path: to } = (body ?? {}) as { readonly path?: unknown };
  return path !== undefined && typeof to === "string" ? `${path} → ${to}` : path;
}
