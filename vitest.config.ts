import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const MINUTE_MS = 60_000;

/** They take minutes: whoever begins one of them last waits for it alone. */
const LONG = /tests\/(kill|move)\.test\.ts$/;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => Number(LONG.test(b.moduleId)) - Number(LONG.test(a.moduleId)));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // A deadline against hanging, not a measure: these run on slow and busy machines.
    testTimeout: 2 * MINUTE_MS,
    hookTimeout: 5 * MINUTE_MS,
    // Without it a machine with two cores gets one: these mostly wait, for PostgreSQL and for each other.
    maxWorkers: 2,
    expect: { poll: { timeout: MINUTE_MS } },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["packages/{contract,sdk,cli,host,guest}/tests/**/*.test.ts", "{setup,bench}/*.test.ts"],
          globalSetup: ["packages/cli/tests/support/global-setup.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "control",
          include: ["packages/control/tests/**/*.test.ts"],
          globalSetup: ["packages/control/tests/support/global-setup.ts"],
        },
      },
      {
        // Real microVMs. Two files at once: half of their time goes by waiting for what has been killed. Not beside the others.
        extends: true,
        test: {
          name: "end-to-end",
          include: ["tests/**/*.test.ts"],
          globalSetup: ["tests/support/global-setup.ts"],
          testTimeout: 5 * MINUTE_MS,
          hookTimeout: 10 * MINUTE_MS,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
