/** No reference to a template or an image is longer. */
const BASE_MAX_CHARS = 1_000;

export interface Instruction {
  /** In capitals. */
  readonly word: string;
  readonly rest: string;
  /** With the lines that it goes on in. */
  readonly text: string;
}

/** Undefined where another character than a backslash goes on with the next line. */
export function instructionsOf(text: string): readonly Instruction[] | undefined {
  const found: Instruction[] = [];
  let lines: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*#/.test(line)) {
      if (/^\s*#\s*escape\s*=/i.test(line)) return undefined;
      continue;
    }
    if (line.trim() === "") continue;
    lines.push(line);
    if (/\\\s*$/.test(line)) continue;
    found.push(instructionOf(lines));
    lines = [];
  }
  return lines.length === 0 ? found : [...found, instructionOf(lines)];
}

function instructionOf(lines: readonly string[]): Instruction {
  const whole = lines.map((line) => line.replace(/\\\s*$/, " ")).join("");
  const [, word = "", rest = ""] = /^\s*(\S+)\s*(.*)$/s.exec(whole) ?? [];
  return { word: word.toUpperCase(), rest: rest.trim(), text: lines.join("\n").trim() };
}

/** What its stages begin on, as FROM names it: that of the last stage first, and none twice. Neither another stage nor what is left open, such as an
 *  argument without a value, or one that is named so often that it would make a small text a large one. */
export function basesOf(text: string, args: Readonly<Record<string, string>> = {}): readonly string[] {
  const known = new Map<string, string>();
  const stages = new Set<string>(["scratch"]);
  const bases = new Set<string>();
  for (const { word, rest } of instructionsOf(text) ?? []) {
    const words = rest.split(/\s+/).filter((each) => !each.startsWith("--"));
    if (word === "ARG") for (const each of words) keepArgument(known, each, args);
    if (word !== "FROM") continue;
    const [first = "", as = "", stage = ""] = words;
    const base = withArguments(first, known);
    if (!stages.has(base.toLowerCase())) bases.add(base);
    if (as.toUpperCase() === "AS") stages.add(stage.toLowerCase());
  }
  return [...bases].filter((base) => !base.includes("$")).toReversed();
}

/** `NAME` or `NAME=DEFAULT`. */
function keepArgument(
  known: Map<string, string>,
  text: string,
  args: Readonly<Record<string, string>>,
): void {
  const [, name = "", byDefault] = /^([^=]+)(?:=["']?([^"']*)["']?)?$/.exec(text) ?? [];
  const value = Object.hasOwn(args, name) ? args[name] : byDefault;
  if (value !== undefined) known.set(name, value);
}

/** With the values of its arguments, or, where these are longer than any name, as it is: open. */
function withArguments(text: string, known: ReadonlyMap<string, string>): string {
  let chars = 0;
  const base = text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (whole, braced?: string, plain?: string) => {
    const value = known.get(braced ?? plain ?? "") ?? whole;
    chars += value.length;
    return chars > BASE_MAX_CHARS ? "" : value;
  });
  return chars > BASE_MAX_CHARS ? text : base;
}
