// A client may be newer than its server, and then knows fields that the server refuses.

import packageJson from "../../package.json" with { type: "json" };

/** What to do about a field that the server does not know; undefined where the server is not older, or does not say what it is. */
export function olderServerRemedy(
  code: string,
  server: string | null,
  own: string = packageJson.version,
): string | undefined {
  if (code !== "unknown_field" || server === null || !isOlder(server, own)) return undefined;
  return `The server is version ${server} and this client ${own}, which may know more: upgrade the server, or use the client that the server hands out.`;
}

/** Compares release versions, number by number. */
function isOlder(one: string, other: string): boolean {
  const [ones, others] = [numbersOf(one), numbersOf(other)];
  if (ones === undefined || others === undefined) return false;
  const at = others.findIndex((number, index) => number !== ones[index]);
  return at >= 0 && (ones[at] ?? 0) < (others[at] ?? 0);
}

function numbersOf(version: string): readonly number[] | undefined {
  const [, ...parts] = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-+].{0,100})?$/.exec(version) ?? [];
  return parts.length === 0 ? undefined : parts.map(Number);
}
