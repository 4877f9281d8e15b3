// Files in which version managers are told a version.

/** `.nvmrc` and those like it: its first line that is neither empty, a comment nor a setting. */
export function versionLine(text: string | undefined): string | undefined {
  return linesOf(text).find((line) => !line.includes("=")) ?? (text === undefined ? undefined : "");
}

/** asdf's: a tool and its versions in each line, of which the first counts. */
export function toolVersions(text: string | undefined, names: readonly string[]): string | undefined {
  const line = linesOf(text).find((one) => names.includes(one.split(/\s/, 1)[0] ?? ""));
  return line?.split(/\s+/)[1];
}

/** Without comments and what is empty. */
function linesOf(text = ""): readonly string[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const end = line.indexOf("#");
    const said = (end < 0 ? line : line.slice(0, end)).trim();
    return said === "" ? [] : [said];
  });
}
