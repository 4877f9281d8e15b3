// Which tests try what a change touches, beyond the import graph that `vitest --changed` follows: end-to-end tests run the built program, and so do most
// tests of the command line, of the guest and of Python's client.

import { basename, dirname, join } from "node:path";

/** End-to-end tests, by what they are about: names of files in `tests/`. */
const about = {
  sandboxes: [
    "sandboxes",
    "first-sandbox",
    "journeys",
    "persistent",
    "clones",
    "warm-pool",
    "waking",
    "kill",
  ],
  saved: ["persistent", "sandboxes", "machine-forks", "saved-host", "saved-move"],
  machines: ["machines", "machine-host", "machine-forks"],
  commands: ["commands", "executions", "shell", "hostile-commands", "hostile-guest"],
  files: ["files", "file-system", "copy"],
  ports: ["ports", "forward", "https"],
  egress: ["egress", "egress-names", "egress-attacks", "egress-inject"],
  hosts: ["hosts", "host-restart", "move", "saved-move", "template-copies", "object-store"],
  builds: [
    "builds",
    "built-templates",
    "build-cache",
    "build-folder",
    "planned-builds",
    "detected-apps",
    "git-builds",
    "hostile-builds",
    "registries",
  ],
  templates: ["templates", "built-templates", "clones", "warm-pool", "first-sandbox", "extra-ca"],
  e2b: ["e2b"],
  local: [
    "local",
    "install",
    "doctor",
    "package",
    "backup",
    "hostile-backups",
    "strangers",
    "root-keys",
    "database-away",
    "full-disk",
    "readme",
    "try-kvm",
  ],
  secrets: ["secrets", "root-keys", "egress-inject"],
  apps: ["apps", "app-faults", "app-hosts", "app-kill", "app-launches", "app-logs", "edge"],
  watched: ["observability", "rest"],
  clients: ["cli", "python-client", "journeys"],
} as const;
type Area = keyof typeof about;

const everyArea = Object.keys(about) as readonly Area[];

/** Makes each call with each client. It imports the SDK alone. */
const clientCalls = "packages/control/tests/client-calls.test.ts";

interface Rule {
  /** Beginnings of paths. */
  readonly paths: readonly string[];
  readonly areas: readonly Area[];
  /** Folders and files whose tests do not import what they try. */
  readonly tests?: readonly string[];
}

const rules: readonly Rule[] = [
  {
    paths: [
      "packages/contract/src/",
      "packages/host/src/vm/",
      "packages/host/src/guest/",
      "packages/host/src/http/",
      "packages/host/src/main",
      "packages/host/src/run-host",
      "packages/host/src/app/",
      "packages/host/src/config/",
      "packages/host/src/system/",
      "tests/support/",
      "vitest.config.ts",
    ],
    areas: everyArea,
  },
  { paths: ["packages/guest/"], areas: everyArea, tests: ["packages/guest/tests/", "packages/host/tests/"] },
  { paths: ["packages/host/native/"], areas: everyArea, tests: ["packages/host/tests/"] },
  { paths: ["packages/build-plan/"], areas: ["builds"] },
  { paths: ["packages/host/src/templates/", "templates/"], areas: ["templates", "builds"] },
  {
    paths: ["packages/host/src/network/", "packages/host/src/names/", "packages/control/src/vms/egress/"],
    areas: ["egress"],
  },
  {
    paths: [
      "packages/host/src/move/",
      "packages/control/src/moves/",
      "packages/control/src/hosts/",
      "packages/control/src/joining/",
    ],
    areas: ["hosts"],
  },
  {
    paths: [
      "packages/control/src/sandboxes/",
      "packages/control/src/capacity/",
      "packages/control/src/vms/creation/",
      "packages/control/src/platform/",
    ],
    areas: ["sandboxes", "saved", "machines"],
  },
  { paths: ["packages/control/src/snapshots/"], areas: ["saved"] },
  { paths: ["packages/control/src/machines/"], areas: ["machines"] },
  { paths: ["packages/control/src/vms/exec", "packages/control/src/vms/execut"], areas: ["commands"] },
  { paths: ["packages/control/src/vms/files/", "packages/control/src/vms/watches/"], areas: ["files"] },
  {
    paths: [
      "packages/control/src/vms/ports/",
      "packages/control/src/vms/forward/",
      "packages/control/src/vms/signed-urls/",
      "packages/control/src/http/",
    ],
    areas: ["ports"],
  },
  { paths: ["packages/control/src/builds/", "packages/control/src/registries/"], areas: ["builds"] },
  {
    paths: ["packages/control/src/templates/", "packages/control/src/object-store/"],
    areas: ["templates", "hosts"],
  },
  { paths: ["packages/control/src/secrets/", "packages/control/src/sealing/"], areas: ["secrets"] },
  { paths: ["packages/host/src/edge/", "packages/control/src/apps/"], areas: ["apps"] },
  { paths: ["packages/control/src/e2b/"], areas: ["e2b"] },
  {
    paths: ["packages/control/src/metrics/", "packages/control/src/events/", "packages/control/src/usage/"],
    areas: ["watched"],
  },
  {
    paths: ["packages/control/src/db/", "packages/control/src/sealing/", "packages/control/src/app/"],
    areas: ["local", "sandboxes"],
  },
  { paths: ["packages/cli/src/local/"], areas: ["local"], tests: ["packages/cli/tests/"] },
  {
    paths: ["packages/cli/src/"],
    areas: ["clients", "commands"],
    tests: ["packages/cli/tests/", clientCalls],
  },
  {
    paths: ["packages/sdk/src/"],
    areas: ["clients", "files"],
    tests: ["packages/cli/tests/", "setup/clients.test.ts"],
  },
  {
    paths: ["packages/python/"],
    areas: ["clients"],
    tests: ["packages/python/tests/", "setup/python-wheel.test.ts", clientCalls],
  },
  { paths: ["packages/dashboard/"], areas: [], tests: ["packages/dashboard/tests/"] },
  { paths: ["setup/", "docs/", "README.md"], areas: [], tests: ["setup/"] },
];

/** Filters for vitest: files and beginnings of paths. */
export function testsOf(changed: readonly string[]): string[] {
  const touched = rules.filter(({ paths }) =>
    changed.some((file) => paths.some((path) => file.startsWith(path))),
  );
  const files = touched.flatMap(({ areas }) =>
    areas.flatMap((area) => about[area].map((name) => `tests/${name}.test.ts`)),
  );
  const itself = changed.filter((file) => file.endsWith(".test.ts"));
  return [...new Set([...files, ...touched.flatMap(({ tests = [] }) => tests), ...itself])];
}

/**
 * Tests, by path with their text, that import a changed file, or are called like it or like the folder that it
 * is in: they tell of a fault in it before the many that reach it over other files.
 */
export function nearestTests(changed: readonly string[], tests: ReadonlyMap<string, string>): string[] {
  const isNear = (test: string, text: string) => {
    const imported = importsIn(test, text);
    return changed.some((file) => {
      const name = basename(file).replace(/\.(tsx?|c|h|py)$/, "");
      return imported.has(file) || isCalledLike(test, name) || isOfFolder(test, file);
    });
  };
  return [...tests].filter(([test, text]) => isNear(test, text)).map(([test]) => test);
}

/** Files of the repository that the test imports itself. */
function importsIn(test: string, text: string): Set<string> {
  const targets = [...text.matchAll(/(?:from|import\()\s*"([^"]+)"/g)].map(([, target = ""]) => target);
  return new Set(
    targets.map((target) =>
      target.startsWith(".")
        ? join(dirname(test), target)
        : target.replace(/^@skerry\/([a-z-]+)\/(.+)$/, "packages/$1/src/$2.ts"),
    ),
  );
}

const isCalledLike = (test: string, name: string): boolean => basename(test, ".test.ts") === name;

/** `sandbox-reaper.test.ts` is of the package's folder `sandboxes`. */
function isOfFolder(test: string, file: string): boolean {
  const [, name = "", , ...folders] = dirname(file).split("/");
  const room = folders.at(-1);
  if (room === undefined || !test.startsWith(`packages/${name}/`)) return false;
  const own = basename(test, ".test.ts");
  return [room, room.replace(/s$/, ""), room.replace(/es$/, "")].some(
    (word) => own === word || own.startsWith(`${word}-`),
  );
}

/** All end-to-end tests that some area names. */
export const testsInAreas: ReadonlySet<string> = new Set(Object.values(about).flat());
