import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { drawn, isFullRun } from "./tests/support/sampling.ts";
import { testFiles, testKernel } from "./tests/kvm/test-kernel.ts";

const MINUTE_MS = 60_000;

/** The files that take longest, longest first: the run would wait for one of them alone if it began last. */
const LONGEST = [
  ...[
    "kill",
    "egress-attacks",
    "egress",
    "persistent",
    "try-kvm",
    "move",
    "host-restart",
    "hosts",
    "extra-ca",
    "backup",
    "shell",
    "local",
    "doctor",
    "package",
    "machine-host",
    "templates",
    "hostile-commands",
    "machines",
    "warm-pool",
    "hostile-guest",
    "executions",
    "saved-host",
  ].map((name) => `tests/${name}.test.ts`),
  ...["access-watch", "idempotency", "database-away", "revocation", "simulation", "moves", "settling"].map(
    (name) => `packages/control/tests/${name}.test.ts`,
  ),
  ...["spawn-helper", "egress-packets", "adopter"].map((name) => `packages/host/tests/${name}.test.ts`),
].map((file) => join(import.meta.dirname, file));

/** What takes too long for every run: the whole matrices alone have these files. Not skipped in the others, whose every test has to run. */
const FULL_ONLY = ["code-interpreter", "e2b-compatibility", "image-kill"];

/** One or two scenarios of minutes each. A usual run has every third of these files, beginning where its seed says. */
const LONG_SCENARIOS = [
  ...["hostile-builds", "planned-builds", "build-cache"],
  ...["registries", "detected-apps", "git-builds"],
  ...["object-store", "template-copies", "saved-move"],
  ...["try-kvm", "backup", "extra-ca"],
];

const named = [...FULL_ONLY, ...LONG_SCENARIOS].map((name) =>
  join(import.meta.dirname, `tests/${name}.test.ts`),
);
for (const file of [...LONGEST, ...named])
  if (!existsSync(file)) throw new Error(`vitest.config.ts names ${file}, which is not there`);

/** A file that is named runs in any case. */
function leftOut(): string[] {
  if (isFullRun) return [];
  const first = drawn("long scenarios", 3);
  const others = LONG_SCENARIOS.filter((_, at) => at % 3 !== first);
  const asked = process.argv.slice(2).filter((word) => !word.startsWith("-"));
  return [...FULL_ONLY, ...others]
    .map((name) => `tests/${name}.test.ts`)
    .filter((file) => !asked.some((word) => file.includes(word)));
}

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) =>
      LONGEST.includes(moduleId) ? LONGEST.indexOf(moduleId) : LONGEST.length;
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

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
    sequence: { sequencer: LongestFirst },
    // A deadline against hanging, not a measure: these run on slow and busy machines.
    testTimeout: 2 * MINUTE_MS,
    hookTimeout: 5 * MINUTE_MS,
    // More than a small machine has cores: tests mostly wait, for PostgreSQL, for processes and for each other.
    maxWorkers: 4,
    expect: { poll: { timeout: MINUTE_MS } },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: [
            "packages/{contract,sdk,cli,host,guest,python}/tests/**/*.test.ts",
            "{setup,bench,try-kvm}/*.test.ts",
          ],
          globalSetup: ["packages/cli/tests/support/global-setup.ts"],
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
        // Real microVMs. Three files at once: most of their time goes by waiting for what has been killed. Not beside the others.
        extends: true,
        test: {
          name: "end-to-end",
          include: ["tests/**/*.test.ts"],
          exclude: ["tests/kvm/**", ...leftOut()],
          globalSetup: ["tests/support/global-setup.ts"],
          setupFiles: ["tests/support/await-platform.ts"],
          testTimeout: 5 * MINUTE_MS,
          hookTimeout: 10 * MINUTE_MS,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      ...kvmProjects(),
    ],
  },
});
