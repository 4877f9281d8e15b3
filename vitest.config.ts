import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { HangReporter } from "./setup/hang-reporter.ts";
import { keptTimes, lengthOf } from "./setup/test-times.ts";
import { TimesReporter } from "./setup/times-reporter.ts";
import { drawn, isFullRun, noteSampled } from "./tests/support/sampling.ts";
import { testFiles, testKernel } from "./tests/kvm/test-kernel.ts";

const MINUTE_MS = 60_000;

/**
 * Workers where microVMs are emulated, which leave nothing of a core: five files took 326 s with three on two
 * cores, and 318 s with two. What runs beside them has one more, because it waits as well: 12 files of control
 * took 106 s with four, 86 s with three and 94 s with two.
 */
const VM_WORKERS = Math.max(2, Math.min(4, availableParallelism()));

/** Files that a usual run leaves out: their whole matrices take too long. They are not skipped, because a skipped test fails the run. */
const FULL_ONLY = ["code-interpreter", "e2b-compatibility", "image-kill"];

/** Files of a few scenarios of minutes each. A usual run has every sixth of them, beginning where its seed says. */
const LONG_SCENARIOS = [
  ...["hostile-builds", "planned-builds", "build-cache"],
  ...["registries", "detected-apps", "git-builds"],
  ...["object-store", "template-copies", "saved-move"],
  ...["try-kvm", "backup", "extra-ca"],
  ...["built-templates", "egress-names", "hostile-backups"],
  ...["host-restart", "machine-host", "saved-host"],
];
const ONE_IN = 6;

for (const name of [...FULL_ONLY, ...LONG_SCENARIOS])
  if (!existsSync(join(import.meta.dirname, `tests/${name}.test.ts`)))
    throw new Error(`vitest.config.ts names tests/${name}.test.ts, which is not there`);

/** Files that this run leaves out. A file that the command line names runs in any case. */
function leftOut(): string[] {
  if (isFullRun) return [];
  const first = drawn("long scenarios", ONE_IN);
  const others = LONG_SCENARIOS.filter((_, at) => at % ONE_IN !== first);
  const asked = process.argv.slice(2).filter((word) => !word.startsWith("-"));
  const out = [...FULL_ONLY, ...others]
    .map((name) => `tests/${name}.test.ts`)
    .filter((file) => !asked.some((word) => file.includes(word)));
  const all = FULL_ONLY.length + LONG_SCENARIOS.length;
  noteSampled({ title: "files of long scenarios", taken: all - out.length, all });
  return out;
}

/** In ms; undefined for a file that is new since the last run that left its times. */
const lastTimes = new Map(keptTimes()?.files.map((one) => [one.file, lengthOf(one)]));

const isLong = (file: string): boolean => LONG_SCENARIOS.some((name) => file === `tests/${name}.test.ts`);

/**
 * Begins with the files that took longest the last time: the run would wait for one of them alone if it began
 * last. Files without a time come first, and of those the long scenarios.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const path = ({ moduleId }: TestSpecification) => relative(import.meta.dirname, moduleId);
    const time = (one: TestSpecification) => lastTimes.get(path(one)) ?? Infinity;
    return sorted.toSorted((a, b) => time(b) - time(a) || Number(isLong(path(b))) - Number(isLong(path(a))));
  }
}

/** For `setup/test.ts`, which says where. */
const reportFile = process.env["SKERRY_TEST_REPORT"];

/** None where there is nothing to run them with: a project without tests fails a run. */
function kvmProjects(): TestProjectConfiguration[] {
  const kernel = testKernel();
  if ("missing" in kernel) {
    process.stdout.write(`no tests under KVM: ${kernel.missing}\n`);
    return [];
  }
  return [
    {
      // MicroVMs on KVM, also where that is many times slower than emulation: nothing else runs beside them.
      extends: true,
      test: {
        name: "kvm",
        include: [...testFiles()],
        globalSetup: ["tests/kvm/global-setup.ts"],
        testTimeout: 30 * MINUTE_MS,
        hookTimeout: 20 * MINUTE_MS,
        maxWorkers: 1,
        sequence: { groupOrder: 2 },
      },
    },
  ];
}

export default defineConfig({
  test: {
    reporters: [
      "default",
      new TimesReporter(),
      new HangReporter(),
      ...(reportFile === undefined ? [] : [["json", { outputFile: reportFile }] as ["json", object]]),
    ],
    sequence: { sequencer: LongestFirst },
    // A deadline against hanging, not a measure: these run on slow and busy machines.
    testTimeout: 5 * MINUTE_MS,
    hookTimeout: 5 * MINUTE_MS,
    maxWorkers: VM_WORKERS + 1,
    // Worlds come and go, and what they leave is young: fewer collections took 7 % off the CPU time of control's tests.
    execArgv: ["--max-semi-space-size=32"],
    expect: { poll: { timeout: MINUTE_MS } },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: [
            "packages/{contract,build-plan,sdk,cli,host,guest,python}/tests/**/*.test.ts",
            "{setup,bench,try-kvm}/*.test.ts",
          ],
          globalSetup: [
            "packages/cli/tests/support/global-setup.ts",
            "packages/guest/tests/support/global-setup.ts",
          ],
        },
      },
      {
        extends: true,
        test: {
          name: "control",
          include: ["packages/control/tests/**/*.test.ts"],
          globalSetup: ["packages/control/tests/support/global-setup.ts"],
          // Its files share their modules, whose loading took a third of all their CPU time; each has databases, hosts and servers of its own.
          isolate: false,
        },
      },
      {
        // A real browser before a real control plane; the end-to-end tests have the real microVMs. By itself: Chromium breaks off what it loads when an
        // interface of the machine comes or goes, and tests of hosts make them.
        extends: true,
        test: {
          name: "dashboard",
          include: ["packages/dashboard/tests/**/*.test.ts"],
          globalSetup: ["packages/control/tests/support/global-setup.ts"],
          sequence: { groupOrder: 3 },
        },
      },
      {
        // Real microVMs. Not beside the others.
        extends: true,
        test: {
          name: "end-to-end",
          include: ["tests/**/*.test.ts"],
          exclude: ["tests/kvm/**", ...leftOut()],
          globalSetup: ["tests/support/global-setup.ts"],
          setupFiles: ["tests/support/await-platform.ts"],
          testTimeout: 10 * MINUTE_MS,
          hookTimeout: 10 * MINUTE_MS,
          maxWorkers: VM_WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
      ...kvmProjects(),
    ],
  },
});
