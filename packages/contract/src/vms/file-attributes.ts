// Extended attributes that are set on a file: a JSON object of text, as a query has it.

import { ATTRIBUTE_NAME_MAX_BYTES, ATTRIBUTES_MAX, ATTRIBUTES_MAX_BYTES } from "../bounds.ts";
import { SkerryError } from "../errors.ts";

export type FileAttributes = Readonly<Record<string, string>>;

/** What Linux names them all by; names here are without it. */
const PREFIX_BYTES = "user.".length;

/** Throws `bad_request` where the text is no such object, or is one that no file can have. */
export function readAttributes(json: string): FileAttributes {
  let read: unknown;
  try {
    read = JSON.parse(json);
  } catch (cause) {
    throw refused("are not JSON", cause);
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) throw refused("are no object");
  const attributes = read as Readonly<Record<string, unknown>>;
  for (const value of Object.values(attributes))
    if (typeof value !== "string") throw refused("are not all text");
  return checkAttributes(attributes as FileAttributes);
}

export function checkAttributes(attributes: FileAttributes): FileAttributes {
  const pairs = Object.entries(attributes);
  if (pairs.length > ATTRIBUTES_MAX) throw refused(`are more than ${ATTRIBUTES_MAX}`);
  let bytes = 0;
  for (const [name, value] of pairs) {
    const nameBytes = Buffer.byteLength(name);
    if (name === "" || nameBytes > ATTRIBUTE_NAME_MAX_BYTES)
      throw refused(`have a name that is empty, or longer than ${ATTRIBUTE_NAME_MAX_BYTES} bytes`);
    if (/[=\0]/u.test(name) || value.includes("\0"))
      throw refused('have a name with "=", or a NUL character');
    if (!name.isWellFormed() || !value.isWellFormed()) throw refused("are not valid Unicode");
    bytes += PREFIX_BYTES + nameBytes + Buffer.byteLength(value);
  }
  if (bytes > ATTRIBUTES_MAX_BYTES)
    throw refused(
      `are larger than ${ATTRIBUTES_MAX_BYTES} bytes together, each name with its prefix \`user.\``,
    );
  return attributes;
}

function refused(why: string, cause?: unknown): SkerryError {
  return new SkerryError("bad_request", `The attributes ${why}.`, {
    remediation: 'Give a JSON object of text, such as {"author": "Ada"}.',
    context: { field: "attributes" },
    cause,
  });
}
