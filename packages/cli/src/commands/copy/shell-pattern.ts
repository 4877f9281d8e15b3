// Patterns of names, as the shell has them. The guest's shell finds what there is, and a guest may say
// anything: only what the pattern means is believed, because its last part becomes the name of a file here.

/**
 * `*` and `?` take no slash, and at the beginning of a name no dot. A pattern without any of them means
 * itself.
 */
export function isMeant(pattern: string, path: string): boolean {
  if (path === pattern) return true;
  try {
    return new RegExp(`^${pattern.split("/").map(ofName).join("/")}$`, "su").test(path);
  } catch {
    return false; // such as [z-a]
  }
}

export function isPattern(text: string): boolean {
  return /[*?[]/.test(text);
}

function ofName(name: string): string {
  const begin = /^[*?[]/.test(name) ? "(?!\\.)" : "";
  return begin + name.replace(/\*|\?|\[([!^]?)(\]?[^\]]*)\]|[^*?]/gsu, ofPart);
}

function ofPart(part: string, negated?: string, chars?: string): string {
  if (part === "*") return "[^/]*";
  if (part === "?") return "[^/]";
  if (chars === undefined) return escaped(part);
  const set = chars.replace(/[\\\]^[&~]/g, "\\$&");
  return `(?!/)[${negated === "" ? "" : "^"}${set}]`;
}

function escaped(char: string): string {
  return char.replace(/[\\^$.*+?()[\]{}|/-]/g, (one) => (one === "-" ? one : `\\${one}`));
}
