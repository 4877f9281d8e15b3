// A strict reader of Prometheus' text format 0.0.4 and of OpenMetrics 1.0: whatever the two specifications forbid and we could get
// wrong throws.

export interface Exposition {
  readonly families: ReadonlyMap<string, ParsedFamily>;
  /** `name{a="b"}` to value. */
  readonly series: ReadonlyMap<string, number>;
}

interface ParsedFamily {
  readonly name: string;
  type?: string;
  help?: string;
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`;
const SAMPLE = new RegExp(
  String.raw`^(${NAME})(?:\{(${LABEL}(?:,${LABEL})*)\})? (\+Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$`,
);
const DESCRIPTION = new RegExp(String.raw`^# (HELP|TYPE) (${NAME}) (.+)$`);

export function parseExposition(text: string, contentType: string): Exposition {
  const open = contentType === "application/openmetrics-text; version=1.0.0; charset=utf-8";
  if (!open && contentType !== "text/plain; version=0.0.4; charset=utf-8") throw new Error(contentType);
  if (!text.endsWith(open ? "# EOF\n" : "\n")) throw new Error("it does not end as it should");
  const reader = new Reader(open);
  for (const line of text.split("\n").slice(0, open ? -2 : -1)) reader.read(line);
  reader.finish();
  return reader;
}

class Reader implements Exposition {
  readonly families = new Map<string, ParsedFamily>();
  readonly series = new Map<string, number>();
  readonly #open: boolean;
  #current: ParsedFamily | undefined;

  constructor(open: boolean) {
    this.#open = open;
  }

  read(line: string): void {
    const description = DESCRIPTION.exec(line);
    if (description === null) return this.#sample(line);
    const [, keyword, name = "", text = ""] = description;
    if (this.#current?.name !== name) {
      requireThat(!this.families.has(name), `the family ${name} is there twice, or torn apart`);
      this.#current = { name };
      this.families.set(name, this.#current);
    }
    const field = keyword === "HELP" ? "help" : "type";
    requireThat(this.#current[field] === undefined, `a second ${keyword} of ${name}`);
    this.#current[field] = text;
  }

  #sample(line: string): void {
    const [, name = "", labels = "", value = ""] = SAMPLE.exec(line) ?? [];
    requireThat(name !== "", `not a line of the format: ${line}`);
    requireThat(belongs(name, this.#current, this.#open), `${line} is not of the family that it stands in`);
    const key = `${name}{${labels}}`;
    requireThat(!this.series.has(key), `${key} is there twice`);
    const names = [...labels.matchAll(/([a-zA-Z_]\w*)="(?:[^"\\\n]|\\.)*"/g)].map(([, label]) => label);
    requireThat(new Set(names).size === names.length, `${key} has a label twice`);
    this.series.set(key, value === "+Inf" ? Infinity : Number(value));
  }

  finish(): void {
    for (const { name, type = "", help = "" } of this.families.values()) {
      requireThat(
        ["counter", "gauge", "histogram"].includes(type) && help !== "",
        `${name} is not described`,
      );
      if (type === "histogram") checkHistogram(name, this.series);
    }
  }
}

/** Whether a sample of this name may stand in this family. */
function belongs(sample: string, family: ParsedFamily | undefined, open: boolean): boolean {
  if (family === undefined) return false;
  const { name, type } = family;
  const isTotal = name.endsWith("_total");
  if (type === "counter") return open ? sample === `${name}_total` && !isTotal : sample === name && isTotal;
  if (type === "histogram") return ["_bucket", "_sum", "_count"].some((suffix) => sample === name + suffix);
  return type === "gauge" && sample === name && !isTotal;
}

/** Buckets grow, and the last one is for everything and equals the count. */
function checkHistogram(name: string, series: ReadonlyMap<string, number>): void {
  const last = new Map<string, { bound: number; value: number }>();
  for (const [key, value] of series) {
    const [, labels = "", text] = new RegExp(`^${name}_bucket\\{(.*?),?le="([^"]+)"\\}$`).exec(key) ?? [];
    if (text === undefined) continue;
    const before = last.get(labels) ?? { bound: -Infinity, value: 0 };
    const bound = text === "+Inf" ? Infinity : Number(text);
    requireThat(bound > before.bound && value >= before.value, `${key} breaks the order`);
    last.set(labels, { bound, value });
  }
  for (const [labels, { bound, value }] of last) {
    requireThat(bound === Infinity, `${name}{${labels}} has no bucket for everything`);
    requireThat(series.get(`${name}_count{${labels}}`) === value, `${name}{${labels}} counts two ways`);
    requireThat(series.has(`${name}_sum{${labels}}`), `${name}{${labels}} has no sum`);
  }
}

function requireThat(holds: boolean, fault: string): void {
  if (!holds) throw new Error(fault);
}

/** 0 where there is no such series. Labels in the order of the text. */
export function valueOf(
  { series }: Exposition,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return series.get(`${name}{${pairs.join(",")}}`) ?? 0;
}
