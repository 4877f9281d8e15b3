// Reports are sent to others. Whatever else gets into one, in the words of some program, these do not.

const IPV4 = /\b(?:\d{1,3}\.){3}\d{1,3}\b/g;
/** At least four groups, so that no time is one; the address of a network card is. */
const IPV6 =
  /(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}(?::?[0-9a-f]{1,4})+(?![\w:])|(?<![\w:])[0-9a-f]{1,4}::[0-9a-f:]+/gi;
const TOKEN = /\b(?:sk|jtk)_[\w.+/=-]{8,}/g;
const URL_PASSWORD = /(\w+:\/\/)[^\s/@]+@/g;
const LOOPBACK = "127.0.0.1";

/** Without host name, addresses, tokens and passwords in URLs. */
export function redact(text: string, hostName: string): string {
  const hidden = text
    .replaceAll(TOKEN, "[token]")
    .replaceAll(URL_PASSWORD, "$1[password]@")
    .replaceAll(IPV4, (address) => (address === LOOPBACK || !isAddress(address) ? address : "[address]"))
    .replaceAll(IPV6, "[address]");
  // Short names, such as `vm`, are words of their own and tell nothing.
  if (hostName.length < 4 || hostName === "localhost") return hidden;
  return hidden.replaceAll(
    new RegExp(`(?<![\\w-])${hostName.replaceAll(/[^\w-]/g, "\\$&")}(?![\\w-])`, "g"),
    "[host name]",
  );
}

function isAddress(text: string): boolean {
  const parts = text.split(".").map(Number);
  return parts.every((part) => part <= 255);
}

/** Every string in a value of JSON; the names of its fields are ours. */
export function redactAll<Value>(value: Value, hostName: string): Value {
  const text = JSON.stringify(value, (_name, part: unknown) =>
    typeof part === "string" ? redact(part, hostName) : part,
  );
  return JSON.parse(text) as Value; // the same shape
}
