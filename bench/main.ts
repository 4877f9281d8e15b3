// `npm run bench`: starts a platform of its own, measures what a user feels, and compares it in the same run with QEMU alone, with podman
// and with the last committed run. A bar that is not met is no failure of the program: read it on an idle machine.
//
//   npm run bench -- [--quick] [--write] [CHAPTER…]
//
// Page, pictures and samples go to .cache/bench, and with --write to docs/.

import { execFile } from "node:child_process";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { Bench, cache, root, settings } from "./bench.ts";
import { chapters } from "./chapters.ts";
import { describeMachine, git, loadNow } from "./machine.ts";
import { picturesOf } from "./pictures.ts";
import { report } from "./report.ts";
import type { ChapterResults, Results } from "./results.ts";
import { full, quick } from "./scale.ts";

const PICTURES = "benchmarks";
const SAMPLES = "latest.json";

const { values: flags, positionals: names } = parseArgs({
  options: { quick: { type: "boolean", default: false }, write: { type: "boolean", default: false } },
  allowPositionals: true,
});
const unknown = names.filter((name) => !chapters.some((chapter) => chapter.name === name));
if (unknown.length > 0)
  throw new Error(
    `there is no ${unknown.join(", ")}; there are ${chapters.map(({ name }) => name).join(", ")}`,
  );
if (flags.write && names.length > 0)
  throw new Error("--write is for a whole run: figures of several runs do not belong on one page");

const loadBefore = loadNow();
if (loadBefore > 0.5) process.stderr.write(`This machine is not idle: load ${loadBefore.toFixed(1)}\n`);
const { found, isWhole } = await measureAll();
const results: Results = {
  date: new Date().toISOString(),
  commit: await commit(),
  quick: flags.quick,
  machine: await describeMachine(loadBefore),
  settings,
  chapters: found,
};
const previous = await lastCommitted();
process.stdout.write(report(results, previous, PICTURES));
if (found.some(({ failure }) => failure !== undefined)) process.exitCode = 1;
await save(flags.write && isWhole ? join(root, "docs") : join(cache, "bench"));
// The measures of an interrupted chapter go on, against a platform that is gone.
if (!isWhole) process.exit(1);

/** Ctrl-C ends it like a failure, so that what was started is stopped, with the samples that were taken. */
async function measureAll(): Promise<{ found: ChapterResults[]; isWhole: boolean }> {
  const interrupted = new Promise<string>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.once(signal, () => resolve(`ended by ${signal}`));
  });
  await using bench = await Bench.open(flags.quick ? quick : full);
  const done: ChapterResults[] = [];
  for (const { measure, ...chapter } of chapters) {
    if (names.length > 0 && !names.includes(chapter.name)) continue;
    bench.begun = [];
    // Copied: an interrupted chapter goes on until its platform is gone.
    const taken = () => structuredClone(bench.begun.map((series) => series.measure));
    const startedMs = performance.now();
    process.stderr.write(`${chapter.name} … `);
    const outcome = measure(bench).then(
      (measures) => ({ measures, isLast: false }),
      (error: unknown) => ({
        measures: taken(),
        failure: error instanceof Error ? error.message : String(error),
        isLast: false,
      }),
    );
    const end = interrupted.then((failure) => ({ measures: taken(), failure, isLast: true }));
    const { isLast, ...found } = await Promise.race([outcome, end]);
    done.push({ ...chapter, ...found });
    process.stderr.write(`${((performance.now() - startedMs) / 1_000).toFixed(0)} s\n`);
    if (isLast) return { found: done, isWhole: false };
  }
  return { found: done, isWhole: true };
}

async function commit(): Promise<string> {
  const [hash, changes] = [
    await git("rev-parse", "--short", "HEAD"),
    await git("status", "--porcelain", "--", "packages"),
  ];
  return hash === undefined ? "unknown" : `${hash}${changes === "" ? "" : " with changes"}`;
}

async function lastCommitted(): Promise<Results | undefined> {
  const text = await git("show", `HEAD:docs/${PICTURES}/${SAMPLES}`);
  return text === undefined ? undefined : (JSON.parse(text) as Results); // written by this program
}

async function save(folder: string): Promise<void> {
  const pictures = join(folder, PICTURES);
  await mkdir(pictures, { recursive: true });
  for (const name of await readdir(pictures)) if (name.endsWith(".svg")) await rm(join(pictures, name));
  const before = new Map(
    previous?.chapters.flatMap(({ measures }) => measures).map((one) => [one.what, one]),
  );
  for (const chapter of results.chapters)
    for (const { file, svg } of picturesOf(chapter, before)) await writeFile(join(pictures, file), svg);
  const page = join(folder, "benchmarks.md");
  await writeFile(page, report(results, previous, PICTURES));
  await writeFile(join(pictures, SAMPLES), `${JSON.stringify(results, rounded)}\n`);
  await promisify(execFile)(join(root, "node_modules/.bin/oxfmt"), ["--write", page], { cwd: root });
  process.stderr.write(`written to ${page}\n`);
}

/** Microseconds say enough. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === "number" ? Math.round(value * 1_000) / 1_000 : value;
}
