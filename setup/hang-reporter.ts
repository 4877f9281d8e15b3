// Reporter of vitest: ends the workers of a run in which nothing has begun or ended for longer than any test
// may take, and names the files that hang. Deadlines of tests are timers inside a worker; they end neither a
// loop without a pause nor a worker that no longer answers.

import { readdirSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestCase, TestModule } from "vitest/node";

/** Longer than the longest deadline of a test: 5 minutes where nothing boots, else 30, under KVM. */
const SILENT_MIN = { computing: 12, booting: 35 } as const;
const COMPUTING: ReadonlySet<string> = new Set(["unit", "control"]);
const LOOK_MS = 10_000;

interface Place {
  readonly isComputing: boolean;
  readonly text: string;
}

export class HangReporter implements Reporter {
  /** Where each module is, by its id. */
  readonly #running = new Map<string, Place>();
  #lastMs = Date.now();
  #timer: NodeJS.Timeout | undefined;

  onTestRunStart(): void {
    this.#lastMs = Date.now();
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  onTestModuleQueued(module: TestModule): void {
    this.#note(module, "being loaded");
  }

  onTestCaseReady(test: TestCase): void {
    this.#note(test.module, test.fullName);
  }

  onTestCaseResult({ module, fullName }: TestCase): void {
    this.#note(module, `after ${fullName}`);
  }

  onTestModuleEnd({ id }: TestModule): void {
    this.#lastMs = Date.now();
    this.#running.delete(id);
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer);
  }

  #note({ id, moduleId, project }: TestModule, at: string): void {
    this.#lastMs = Date.now();
    const text = `${relative(project.vitest.config.root, moduleId)} › ${at}`;
    this.#running.set(id, { isComputing: COMPUTING.has(project.name), text });
  }

  #look(): void {
    const places = [...this.#running.values()];
    const isComputing = places.length > 0 && places.every((place) => place.isComputing);
    const silentMin = isComputing ? SILENT_MIN.computing : SILENT_MIN.booting;
    if (Date.now() - this.#lastMs < silentMin * 60_000) return;
    this.#lastMs = Date.now();
    process.stdout.write(`nothing has happened for ${silentMin} min in:\n`);
    for (const { text } of places) process.stdout.write(`  ${text}\n`);
    const workers = workersOf(process.pid);
    for (const pid of workers) {
      try {
        process.stdout.write(`  process ${pid} ${activityOf(pid)}\n`);
        // Vitest reports a worker that ends as a failure of its file, and goes on.
        process.kill(pid, "SIGKILL");
      } catch {
        // It ended by itself meanwhile.
      }
    }
    if (workers.length === 0) process.exit(1);
  }
}

/** Whether it computes or waits, and for what. */
function activityOf(pid: number): string {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  const [state = ""] = fields;
  const ticks = Number(fields[11]) + Number(fields[12]);
  return `state ${state}, ${ticks / 100} s of CPU, in ${readFileSync(`/proc/${pid}/wchan`, "utf8")}`;
}

/** Process ids of vitest's workers. The set-up of a project may have children beside them. */
function workersOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const [, parentPid] = / \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
        const isWorker = readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("/vitest/dist/workers/");
        return Number(parentPid) === parent && isWorker;
      } catch {
        return false;
      }
    });
}
