// One run of vitest, and what it left: its report, and when each file began and ended.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { toldSampled, type Sampled } from "../tests/support/sampling.ts";
import { runLines } from "./run-lines.ts";
import type { ReportedFile, TestReport } from "./test-report.ts";
import type { FileTime } from "./test-times.ts";

const root = join(import.meta.dirname, "..");

export interface TestFile extends ReportedFile {
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

interface Report extends TestReport {
  readonly success: boolean;
  readonly testResults: readonly TestFile[];
}

export interface Outcome {
  readonly report: Report;
  readonly exitCode: number;
  readonly times: readonly FileTime[];
}

export interface Run {
  /** What its files below the folder are named by. */
  readonly name: string;
  /** Arguments of vitest: projects, filters. */
  readonly args: readonly string[];
  readonly prefix?: string;
}

export class TestRuns {
  readonly #folder: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #sampled: string;

  /** `folder`: for what the runs leave. `env`: seed and size, for all of them. */
  constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.#folder = folder;
    this.#sampled = join(folder, "sampled");
    this.#env = { ...env, SKERRY_TEST_SAMPLED: this.#sampled };
  }

  async run({ name, args, prefix = "" }: Run): Promise<Outcome> {
    const report = join(this.#folder, `${name}.json`);
    const times = join(this.#folder, `${name}.times`);
    const exitCode = await runLines({
      command: join(root, "node_modules/.bin/vitest"),
      args: ["run", "--passWithNoTests", ...args],
      cwd: root,
      env: { ...this.#env, SKERRY_TEST_REPORT: report, SKERRY_TEST_TIMES: times },
      prefix,
    });
    return {
      report: readReport(report, exitCode),
      exitCode,
      times: readLines(times).map((line) => JSON.parse(line) as FileTime),
    };
  }

  /** Says which part of the matrices the runs took; empty where they took all. */
  sampled(): string {
    const lines = readLines(this.#sampled);
    return toldSampled([...new Set(lines)].map((line) => JSON.parse(line) as Sampled));
  }
}

/** A run that ends before its first file leaves no report. */
function readReport(file: string, exitCode: number): Report {
  if (!existsSync(file)) return { success: exitCode === 0, testResults: [] };
  return JSON.parse(readFileSync(file, "utf8")) as Report;
}

function readLines(file: string): string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
}
