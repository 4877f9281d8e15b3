// Names of the DNS as egress policies have them.

/** Of a name in ASCII (RFC 1035, less the root's dot). */
const NAME_MAX_CHARS = 253;
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;

/** The name in its one form: lower case, without the dot at its end; undefined for what is no name, an address for one. */
export function canonicalName(text: string): string | undefined {
  const name = (text.endsWith(".") ? text.slice(0, -1) : text).toLowerCase();
  if (name.length > NAME_MAX_CHARS) return undefined;
  const labels = name.split(".");
  if (!labels.every((label) => LABEL.test(label))) return undefined;
  // Programs read a last label of digits as the end of an IPv4 address, and some a hexadecimal one too.
  return /^(\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? "") ? undefined : name;
}
