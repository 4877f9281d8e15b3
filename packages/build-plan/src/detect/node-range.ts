// Which versions of Node a package says that it runs on, as npm reads `engines`: as far as is needed to tell whether one version will do.

type Version = readonly [major: number, minor: number, patch: number];

/** Whether this version is in the range; undefined where that is no range. */
export function isInRange(range: string, version: Version): boolean | undefined {
  if (range.length > 200 || !/^[\d\sA-Za-z.^~<>=|*+-]*$/.test(range)) return undefined;
  const verdicts = range.split("||").map((part) => isInPart(part.trim(), version));
  return verdicts.includes(undefined) ? undefined : verdicts.includes(true);
}

function isInPart(part: string, version: Version): boolean | undefined {
  const [, from, to] = /^(\S+)\s+-\s+(\S+)$/.exec(part) ?? [];
  if (from !== undefined && to !== undefined)
    return both(meets(">=", from, version), meets("<=", to, version));
  const words = part.replaceAll(/([<>=^~]+)\s+/g, "$1").split(/\s+/);
  return words
    .map((word) => {
      const [, operator = "", text = ""] = /^([<>=^~]*)(.*)$/.exec(word) ?? [];
      return meets(operator, text, version);
    })
    .reduce(both, true);
}

function both(one: boolean | undefined, other: boolean | undefined): boolean | undefined {
  return one === undefined || other === undefined ? undefined : one && other;
}

type Limit = Readonly<{ low: Version; given: number }>;

/** What an operator says of a version, where `given` numbers of the limit were written: 18 is all that begins with 18. */
const operators: Readonly<Record<string, (version: Version, limit: Limit) => boolean>> = {
  "": (version, { low, given }) => compare(version, low, given) === 0,
  "=": (version, { low, given }) => compare(version, low, given) === 0,
  ">=": (version, { low }) => compare(version, low, 3) >= 0,
  "<": (version, { low }) => compare(version, low, 3) < 0,
  ">": (version, { low, given }) => compare(version, low, given) > 0,
  "<=": (version, { low, given }) => compare(version, low, given) <= 0,
  "^": (version, { low }) => compare(version, low, 3) >= 0 && compare(version, low, 1) === 0,
  "~>": (version, limit) => operators["~"]?.(version, limit) === true,
  "~": (version, { low, given }) =>
    compare(version, low, 3) >= 0 && compare(version, low, Math.min(given, 2)) === 0,
};

function meets(operator: string, text: string, version: Version): boolean | undefined {
  if (/^[*xX]?$/.test(text)) return operator === "" ? true : undefined;
  const match = /^v?(\d{1,5})(?:\.(\d{1,5}|[*xX]))?(?:\.(\d{1,5}|[*xX]))?(?:-[\w.-]+)?(?:\+[\w.-]+)?$/.exec(
    text,
  );
  const holds = Object.hasOwn(operators, operator) ? operators[operator] : undefined;
  if (match === null || holds === undefined) return undefined;
  const parts = match
    .slice(1)
    .flatMap((part) => (part === undefined || !/^\d/.test(part) ? [] : [Number(part)]));
  const [major = 0, minor = 0, patch = 0] = parts;
  return holds(version, { low: [major, minor, patch], given: parts.length });
}

/** Of their first so many numbers. */
function compare(one: Version, other: Version, numbers: number): number {
  for (let at = 0; at < numbers; at += 1) {
    const difference = (one[at] ?? 0) - (other[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
