// What a context may be at most.

import { SkerryError } from "../errors.ts";

/** Of all its files together. */
export const CONTEXT_MAX_BYTES = 2 * 1024 ** 3;

/** Files, folders and links. */
export const CONTEXT_ENTRIES_MAX = 200_000;

/** Of one path, in bytes. */
export const CONTEXT_PATH_MAX_BYTES = 1_000;

/** Of a Dockerfile that a request holds: with the builder's script it has to fit into what an execution's frame takes. */
export const DOCKERFILE_TEXT_MAX_CHARS = 16 * 1024;

/** Of one value that a Dockerfile's `RUN --mount=type=secret` reads. */
export const BUILD_SECRET_MAX_BYTES = 64 * 1024;

/** What it is called in the Dockerfile, and the name of its file. */
export const BUILD_SECRET_NAME = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$";

/** What has been counted of a context so far. Throws `context_too_large` where that is more than a build takes. */
export function boundContext(
  { bytes, entries }: Readonly<{ bytes: number; entries: number }>,
  path: string,
): void {
  const remediation = "Name what is not needed in .dockerignore.";
  if (entries > CONTEXT_ENTRIES_MAX)
    throw new SkerryError("context_too_large", `The folder has more than ${CONTEXT_ENTRIES_MAX} entries.`, {
      remediation,
    });
  if (bytes > CONTEXT_MAX_BYTES)
    throw new SkerryError("context_too_large", `The folder has more than ${CONTEXT_MAX_BYTES} bytes.`, {
      remediation,
    });
  if (Buffer.byteLength(path) > CONTEXT_PATH_MAX_BYTES)
    throw new SkerryError(
      "context_too_large",
      `The folder has a path of more than ${CONTEXT_PATH_MAX_BYTES} bytes: ${path.slice(0, 100)}…`,
      { remediation },
    );
}
