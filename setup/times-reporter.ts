// Reporter of vitest: notes when each file began and ended, for `setup/test.ts`.

import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";
import type { FileTime } from "./test-times.ts";

export class TimesReporter implements Reporter {
  readonly #startedMs = new Map<string, number>();

  /** Before the file is loaded: what it awaits at its top level is part of its time. */
  onTestModuleQueued({ id }: TestModule): void {
    this.#startedMs.set(id, Date.now());
  }

  onTestModuleEnd({ id, moduleId, project }: TestModule): void {
    const file = process.env["SKERRY_TEST_TIMES"];
    const startMs = this.#startedMs.get(id);
    if (file === undefined || startMs === undefined) return;
    const time: FileTime = {
      ...{ file: relative(project.vitest.config.root, moduleId), project: project.name },
      ...{ startMs, endMs: Date.now() },
    };
    appendFileSync(file, `${JSON.stringify(time)}\n`);
  }
}
