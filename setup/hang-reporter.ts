// Reporter of vitest: ends the workers of a run in which nothing has begun or ended for longer than any test may take, and names the files that
// hang. Deadlines of tests are timers inside a worker; they end neither a loop without a pause nor a worker that no longer answers.

import { readdirSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestCase, TestModule } from "vitest/node";

/** The longest deadline of a test is 30 minutes, under KVM. */
const SILENT_MS = 35 * 60_000;
const LOOK_MS = 10_000;

export class HangReporter implements Reporter {
  /** Where each module is, by its id. */
  readonly #running = new Map<string, string>();
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
    this.#running.set(id, `${relative(project.vitest.config.root, moduleId)} › ${at}`);
  }

  #look(): void {
    if (Date.now() - this.#lastMs < SILENT_MS) return;
    this.#lastMs = Date.now();
    process.stdout.write(`nothing has happened for ${SILENT_MS / 60_000} min in:\n`);
    for (const at of this.#running.values()) process.stdout.write(`  ${at}\n`);
    const workers = workersOf(process.pid);
    // Vitest reports a worker that ends as a failure of its file, and goes on.
    for (const pid of workers) process.kill(pid, "SIGKILL");
    if (workers.length === 0) process.exit(1);
  }
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
