// The page that shows the results of a run.

import { judge, shownNumber, type Verdict } from "./bars.ts";
import { picturesOf } from "./pictures.ts";
import { publishedTable } from "./published.ts";
import type { ChapterResults, Measure, Results, Unit } from "./results.ts";
import { statistics } from "./statistics.ts";

/** The page as Markdown. Pictures are expected in `picturesFolder`, relative to it. */
export function report(results: Results, previous: Results | undefined, picturesFolder: string): string {
  return [
    "# Benchmarks",
    "",
    ...introduction(results),
    "",
    "## Bars",
    "",
    ...barsTable(results),
    "",
    ...results.chapters.flatMap((chapter) => chapterLines(chapter, previous, picturesFolder)),
    "## What others publish",
    "",
    ...publishedTable,
    "",
  ].join("\n");
}

function introduction({ quick, machine, commit, settings }: Results): string[] {
  return [
    "This page, its pictures and `benchmarks/latest.json` (every sample) are written by the program, never by hand.",
    "",
    "```sh",
    "npm run bench -- --quick          # within about 10 minutes, with fewer samples",
    "npm run bench                     # all of it, about half an hour, on a machine that does nothing else",
    "npm run bench -- life execute     # some of it",
    "npm run bench -- --write          # renews this page",
    "```",
    "",
    "It needs root, as the host does. podman is compared where the Debian packages `podman` and `runc` are installed.",
    "",
    ...(quick ? ["**This was a quick run: too few samples for a p99.**", ""] : []),
    "It starts a platform of its own with the same command as a user, measures through the published client over HTTP, and stops it",
    "again. What is compared takes turns in the same run, so that noise hits all alike: the _bare script_ (`bench/floor.ts`) starts the",
    "same QEMU from the same frozen template and speaks to it directly, without control plane and host, which is the floor for",
    "answers that no waiting clone speeds up; podman runs the same Debian root. An attempt that fails is counted and never left out.",
    "`last` is the median of the last committed run. The p99 of a rate is its slow end.",
    "",
    "## The machine",
    "",
    ...machine.map((line) => `- ${line}`),
    `- Commit ${commit}`,
    `- Settings: ${Object.entries(settings)
      .map(([name, value]) => `\`${name}=${value}\``)
      .join(", ")}; rate limits and quotas are out of reach`,
  ];
}

const WORDS = { met: "met", missed: "**not met**" } as const;

function wordOf(verdict: Verdict): string {
  if (verdict.met === undefined) return "–";
  return verdict.met ? WORDS.met : WORDS.missed;
}

function barsTable({ chapters }: Results): string[] {
  const rows = chapters.flatMap(({ measures }) =>
    measures.flatMap((measure) => {
      const verdict = judge(measure, measures);
      if (verdict === undefined) return [];
      const { what, bar, unit } = measure;
      return [`| ${what} | ${bar}${barUnit(bar, unit)} | ${verdict.found} | ${wordOf(verdict)} |`];
    }),
  );
  return ["| measure | bar | found | |", "| --- | --- | --- | --- |", ...rows];
}

function barUnit(bar: string, unit: Unit): string {
  return unit === "count" || unit === "×" || bar.includes("×") || bar === "none fails" ? "" : ` ${unit}`;
}

function chapterLines(chapter: ChapterResults, previous: Results | undefined, folder: string): string[] {
  const before = new Map(
    previous?.chapters.flatMap(({ measures }) => measures).map((measure) => [measure.what, measure]),
  );
  const pictures = picturesOf(chapter, before).map(({ file, title }) => `![${title}](${folder}/${file})`);
  const reasons = new Set(chapter.measures.flatMap(({ failures = [] }) => failures));
  const skips = new Set(chapter.measures.flatMap(({ skipped }) => skipped ?? []));
  return [
    `## ${chapter.title}`,
    "",
    chapter.about,
    "",
    ...(chapter.failure === undefined ? [] : [`**It was broken off:** ${chapter.failure}`, ""]),
    ...pictures.flatMap((picture) => [picture, ""]),
    "| measure | unit | n | failed | median | p95 | p99 | last |",
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...chapter.measures.map((measure) => row(measure, before.get(measure.what))),
    "",
    ...[...skips].flatMap((reason) => [`Skipped: ${reason}.`, ""]),
    ...[...reasons].slice(0, 5).flatMap((reason) => [`Failed: ${reason}`, ""]),
  ];
}

function row(measure: Measure, before: Measure | undefined): string {
  const { what, unit, samples, failures = [] } = measure;
  const cells = spread(measure).map(shownNumber);
  const last = before === undefined ? "–" : shownNumber(statistics.median(before.samples));
  return `| ${what} | ${unit} | ${samples.length} | ${failures.length} | ${cells.join(" | ")} | ${last} |`;
}

/** Median and the bad end: of a time the long one, of a rate the slow one. */
function spread({ unit, samples }: Measure): [number, number, number] {
  const sign = unit.endsWith("/s") ? -1 : 1;
  const signed = samples.map((sample) => sample * sign);
  return [statistics.median(samples), sign * statistics.p95(signed), sign * statistics.p99(signed)];
}
