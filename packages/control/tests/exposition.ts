// A strict reader of Prometheus' text format 0.0.4 and of OpenMetrics 1.0: whatever the two specifications forbid and we could get
// wrong throws.

export interface Exposition {
  readonly families: ReadonlyMap<string, ParsedFamily>;
  /** `name{a="b"}` to value. */
  readonly series: ReadonlyMap<string, number>;
}

interface ParsedFamily {
  readonly type: string;
  readonly help: string;
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`;
const SAMPLE = new RegExp(
  String.raw`^(${NAME})(?:\{(${LABEL}(?:,${LABEL})*)\})? (\+Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$`,
);
const DESCRIPTION = new RegExp(String.raw`^# (HELP|TYPE) (${NAME}) (.+)$`);

export function parseExposition(text: string, contentType: string): Exposition {
  const open = contentType === "application/openmetrics-text; version=1.0.0; charset=utf-8";
  if (!open && contentType !== "text/plain; version=0.0.4; charset=utf-8")
    throw new Error(`type ${contentType}`);
  if (!text.endsWith(open ? "# EOF\n" : "\n")) throw new Error("it does not end as it should");
  const lines = text.split("\n").slice(0, open ? -2 : -1);
  const families = new Map<string, ParsedFamily>();
  const series = new Map<string, number>();
  let current: { name: string; help?: string; type?: string } | undefined;
  for (const line of lines) {
    const [, keyword, name = "", rest = ""] = DESCRIPTION.exec(line) ?? [];
    if (keyword !== undefined) {
      if (current?.name !== name) {
        if (families.has(name)) throw new Error(`the family ${name} is there twice, or torn apart`);
        current = { name };
      }
      const field = keyword === "HELP" ? "help" : "type";
      if (current[field] !== undefined) throw new Error(`a second ${keyword} of ${name}`);
      current[field] = rest;
      families.set(name, { type: current.type ?? "", help: current.help ?? "" });
      continue;
    }
    const [, sample = "", labels = "", value = ""] = SAMPLE.exec(line) ?? [];
    if (sample === "") throw new Error(`not a line of the format: ${line}`);
    if (current === undefined || !belongs(sample, current, open)) throw new Error(`${line} has no family`);
    const key = `${sample}{${labels}}`;
    if (series.has(key)) throw new Error(`${key} is there twice`);
    const names = [...labels.matchAll(/([a-zA-Z_]\w*)="(?:[^"\\\n]|\\.)*"/g)].map(([, label]) => label);
    if (new Set(names).size !== names.length) throw new Error(`${key} has a label twice`);
    series.set(key, value === "+Inf" ? Infinity : Number(value));
  }
  for (const [name, { type, help }] of families) {
    if (!["counter", "gauge", "histogram"].includes(type) || help === "")
      throw new Error(`${name} is not described`);
    if (type === "histogram") checkHistogram(name, series);
  }
  return { families, series };
}

/** Whether a sample of this name may stand in this family. */
function belongs(sample: string, { name, type }: { name: string; type?: string }, open: boolean): boolean {
  switch (type) {
    case "counter":
      return open
        ? sample === `${name}_total` && !name.endsWith("_total")
        : sample === name && name.endsWith("_total");
    case "gauge":
      return sample === name && !name.endsWith("_total");
    case "histogram":
      return ["_bucket", "_sum", "_count"].some((suffix) => sample === name + suffix);
    default:
      return false;
  }
}

/** Buckets grow, the last is +Inf and equals the count. */
function checkHistogram(name: string, series: ReadonlyMap<string, number>): void {
  const last = new Map<string, { bound: number; value: number }>();
  for (const [key, value] of series) {
    const [, labels = "", bound = ""] =
      new RegExp(`^${name}_bucket\\{(.*?),?le="([^"]+)"\\}$`).exec(key) ?? [];
    if (bound === "") continue;
    const before = last.get(labels) ?? { bound: -Infinity, value: 0 };
    const next = { bound: bound === "+Inf" ? Infinity : Number(bound), value };
    if (next.bound <= before.bound || next.value < before.value) throw new Error(`${key} breaks the order`);
    last.set(labels, next);
  }
  for (const [labels, { bound, value }] of last) {
    if (bound !== Infinity) throw new Error(`${name}{${labels}} has no bucket for everything`);
    if (series.get(`${name}_count{${labels}}`) !== value)
      throw new Error(`${name}{${labels}} counts two ways`);
    if (!series.has(`${name}_sum{${labels}}`)) throw new Error(`${name}{${labels}} has no sum`);
  }
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
