// What E2B's clients keep beside a file (`metadata`): extended attributes of it, whose names begin with `e2b.`, in the sandbox `user.e2b.`.

import { checkAttributes, type FileAttributes } from "@skerry/contract/vms/file-attributes";
import { SkerryError } from "@skerry/contract/errors";

const HEADER = "x-metadata-";
const NAME = "e2b.";
const PRINTABLE = /^[ -~]*$/;

/** Undefined where a request has none. Of a header that was sent twice the first one counts. */
export function attributesOf(rawHeaders: readonly string[]): FileAttributes | undefined {
  const found = new Map<string, string>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? "";
    const value = rawHeaders[at + 1] ?? "";
    if (!name.startsWith(HEADER) || found.has(name)) continue;
    if (name === HEADER) throw refused("A key of the metadata is empty.");
    if (!PRINTABLE.test(value)) throw refused("A value of the metadata is not printable US-ASCII.");
    found.set(name, value);
  }
  if (found.size === 0) return undefined;
  const pairs = Array.from(found, ([name, value]) => [NAME + name.slice(HEADER.length), value] as const);
  return checkAttributes(Object.fromEntries(pairs));
}

/** What other programs have set there is not told. */
export function metadataOf(attributes: FileAttributes | undefined): Record<string, string> {
  const pairs = Object.entries(attributes ?? {}).filter(
    ([name]) => name.length > NAME.length && name.startsWith(NAME),
  );
  return Object.fromEntries(pairs.map(([name, value]) => [name.slice(NAME.length), value]));
}

function refused(message: string): SkerryError {
  return new SkerryError("bad_request", message);
}
