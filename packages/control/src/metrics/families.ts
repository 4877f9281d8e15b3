// Counters, gauges and histograms, and their text in the two formats that scrapers read. A family knows the names of its labels; who
// gives them values chooses from closed lists, because each combination is a series that lives as long as the process.

export type Format = "prometheus" | "openmetrics";

type Labels = readonly string[];

/** What a family tells: its name as in Prometheus' text, its type, and its lines. */
export interface Family {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: Labels;
  samples(): Iterable<Sample>;
  /** Before all of its values are set anew: what is gone must not stay as it was. */
  clear(): void;
}

export interface Sample {
  /** Behind the family's name: `_bucket`, `_sum`, `_count`. */
  readonly suffix: string;
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly value: number;
}

interface About {
  readonly help: string;
  readonly labels?: Labels;
}

/** Values by their labels. Also a counter can be set, where another process has counted. */
class Values<Type extends "counter" | "gauge"> implements Family {
  readonly help: string;
  readonly labels: Labels;
  readonly name: string;
  readonly type: Type;
  readonly #values = new Map<string, { readonly labels: Labels; value: number }>();

  constructor(type: Type, name: string, { help, labels = [] }: About) {
    this.type = type;
    this.name = name;
    this.help = help;
    this.labels = labels;
  }

  set(value: number, ...labels: Labels): void {
    this.#at(labels).value = value;
  }

  add(value: number, ...labels: Labels): void {
    this.#at(labels).value += value;
  }

  clear(): void {
    this.#values.clear();
  }

  *samples(): Iterable<Sample> {
    for (const { labels, value } of this.#values.values()) {
      yield { suffix: "", labels: paired(this.labels, labels), value };
    }
  }

  #at(labels: Labels): { value: number } {
    const key = labels.join(SEPARATOR);
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    requireEqualCount(this.name, this.labels, labels);
    const made = { labels, value: 0 };
    this.#values.set(key, made);
    return made;
  }
}

/** Its name ends in `_total`. */
export class Counter extends Values<"counter"> {
  constructor(name: `${string}_total`, about: About) {
    super("counter", name, about);
  }
}

export class Gauge extends Values<"gauge"> {
  constructor(name: string, about: About) {
    super("gauge", name, about);
  }
}

interface Distribution {
  readonly labels: Labels;
  /** One more than there are bounds: the last holds what is above all of them. */
  readonly buckets: number[];
  sum: number;
}

export class Histogram implements Family {
  readonly type = "histogram";
  readonly help: string;
  readonly labels: Labels;
  readonly name: string;
  readonly #bounds: readonly number[];
  readonly #distributions = new Map<string, Distribution>();

  /** `bounds` in ascending order, without infinity. */
  constructor(name: string, { help, labels = [], bounds }: About & { readonly bounds: readonly number[] }) {
    this.name = name;
    this.help = help;
    this.labels = labels;
    this.#bounds = bounds;
  }

  observe(value: number, ...labels: Labels): void {
    const distribution = this.#at(labels);
    const found = this.#bounds.findIndex((bound) => value <= bound);
    const bucket = found < 0 ? this.#bounds.length : found;
    distribution.buckets[bucket] = (distribution.buckets[bucket] ?? 0) + 1;
    distribution.sum += value;
  }

  clear(): void {
    this.#distributions.clear();
  }

  *samples(): Iterable<Sample> {
    for (const { labels, buckets, sum } of this.#distributions.values()) {
      const pairs = paired(this.labels, labels);
      let count = 0;
      for (const [index, inBucket] of buckets.entries()) {
        count += inBucket;
        const bound = this.#bounds[index] ?? Infinity;
        yield { suffix: "_bucket", labels: [...pairs, ["le", numberText(bound)]], value: count };
      }
      yield { suffix: "_sum", labels: pairs, value: sum };
      yield { suffix: "_count", labels: pairs, value: count };
    }
  }

  #at(labels: Labels): Distribution {
    const key = labels.join(SEPARATOR);
    const known = this.#distributions.get(key);
    if (known !== undefined) return known;
    requireEqualCount(this.name, this.labels, labels);
    const made = { labels, buckets: Array.from({ length: this.#bounds.length + 1 }, () => 0), sum: 0 };
    this.#distributions.set(key, made);
    return made;
  }
}

/** Pieces of a scrape's text, family by family. */
export function* textOf(families: Iterable<Family>, format: Format): Iterable<string> {
  for (const family of families) yield familyText(family, format);
  if (format === "openmetrics") yield "# EOF\n";
}

function familyText(family: Family, format: Format): string {
  // OpenMetrics names a counter's family without the suffix that its samples have.
  const title = format === "openmetrics" ? family.name.replace(/_total$/, "") : family.name;
  const lines = [`# HELP ${title} ${escapeHelp(family.help)}\n`, `# TYPE ${title} ${family.type}\n`];
  for (const { suffix, labels, value } of family.samples()) {
    const pairs = labels.map(([name, text]) => `${name}="${escapeLabel(text)}"`).join(",");
    lines.push(`${family.name}${suffix}${pairs === "" ? "" : `{${pairs}}`} ${numberText(value)}\n`);
  }
  return lines.join("");
}

/** No label value holds it: they come from closed lists and from names of hosts. */
const SEPARATOR = "\0";

function paired(names: Labels, values: Labels): [name: string, value: string][] {
  return names.map((name, index) => [name, values[index] ?? ""]);
}

function requireEqualCount(name: string, labels: Labels, values: Labels): void {
  if (labels.length !== values.length) throw new Error(`${name} has the labels ${labels.join(", ")}`);
}

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  return String(value);
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}

/** In the order in which the class names them. */
export function familiesOf(metrics: object): Family[] {
  return Object.values(metrics).filter((value): value is Family => isFamily(value));
}

function isFamily(value: unknown): value is Family {
  return value instanceof Counter || value instanceof Gauge || value instanceof Histogram;
}
