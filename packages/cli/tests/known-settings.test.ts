import { mkdtemp, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { takeSettings } from "../src/local/backup/restored-settings.ts";
import { installationAt } from "../src/local/install/installation.ts";
import { writeServiceSettings } from "../src/local/install/service-settings.ts";
import { readLayout } from "../src/local/system/layout.ts";
import { knownSettings } from "../src/local/system/known-settings.ts";
import { readSettings } from "../src/local/system/settings-file.ts";

const packages = join(import.meta.dirname, "../..");

async function namesIn(file: string): Promise<string[]> {
  const text = await readFile(join(packages, file), "utf8");
  return [...new Set(text.match(/\bSKERRY_[A-Z][A-Z0-9_]*[A-Z0-9]\b/g))];
}

/** Given by `skerry up` itself, from where it was built and which folders it uses. */
const GIVEN = new Set([
  ...["SKERRY_HOST_SOCKET", "SKERRY_HOST_SOCKET_GID", "SKERRY_HOST_STATE", "SKERRY_NATIVE"],
  ...["SKERRY_RUN_AS_UID", "SKERRY_RUN_AS_GID", "SKERRY_CLIENTS", "SKERRY_DASHBOARD_FILES"],
  "SKERRY_VM_CGROUP",
]);

test.each(["control/src/app/config.ts", "host/src/config/config.ts"])(
  "every setting that %s reads reaches it",
  async (file) => {
    const names = await namesIn(file);
    expect(names.length).toBeGreaterThan(15);
    expect(names.filter((name) => !knownSettings.has(name) && !GIVEN.has(name))).toEqual([]);
  },
);

test("every setting of the documentation is one, and none is undocumented but those of tests", async () => {
  const documented = await namesIn("../docs/settings.md");
  expect(documented.filter((name) => !knownSettings.has(name) && !/_(RATE|QUOTA)$/.test(name))).toEqual([]);
  const undocumented = [...knownSettings.keys()].filter(
    (name) => !documented.includes(name) && !/_(INTERVAL_MS|DNS_PORT|LOG_LEVEL|HOST_ASSETS)$/.test(name),
  );
  expect(undocumented.filter((name) => !/^SKERRY_(RATE|QUOTA)_/.test(name))).toEqual([]);
});

test("a backup gives values, and neither programs, files nor places that code and data come from", () => {
  const restorable = [...knownSettings].filter(([, { fromBackup }]) => fromBackup).map(([name]) => name);
  expect(
    restorable.filter((name) => /(FILE|CERT|KEY|CA|URL|MIRRORS?|KERNEL|ASSETS|TEMPLATES|STATE)$/.test(name)),
  ).toEqual([]);
  expect(restorable).toContain("SKERRY_NEVER_CIDRS");
});

test.each([
  ["a quote", 'SKERRY_HOST_NAME=a"b'],
  ["a continued line", "SKERRY_HOST_NAME=a\\"],
  ["a control character", "SKERRY_HOST_NAME=\u001b[2J"],
  ["another assignment", "SKERRY_HOST_NAME=a LD_PRELOAD=b"],
  ["a specifier or a variable", "SKERRY_HOST_NAME=%h$HOME"],
  ["more than a setting has", `SKERRY_HOST_NAME=${"a".repeat(5_000)}`],
])("a value with %s is left out", (_what, line) => {
  expect(takeSettings(`${line}\n`)).toEqual({ taken: {}, toSetAgain: [], dropped: ["SKERRY_HOST_NAME"] });
});

test("a line of a backup's settings with a carriage return is no setting", () => {
  expect(takeSettings("SKERRY_HOST_NAME=a\rLD_PRELOAD=b\n").taken).toEqual({});
});

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "skerry-settings-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(root, { recursive: true, force: true });
});

test("an installation writes settings of the service alone into its environment file", async () => {
  const state = "/state";
  await mkdir(join(root, state));
  await writeFile(
    join(root, state, "settings.env"),
    "NODE_OPTIONS=--require=/evil.cjs\nLD_PRELOAD=/evil.so\nSKERRY_TLS_CERT=/etc/cert.pem\nSKERRY_QUOTA_SANDBOXES=7\n",
  );
  vi.stubEnv("SKERRY_LISTEN", "127.0.0.1:7171");
  vi.stubEnv("SKERRY_LISTN", "127.0.0.1:7171");
  vi.stubEnv("SKERRY_API_TOKEN", "secret");
  const installation = installationAt({ root, prefix: "/usr/local" });
  const layout = readLayout("/dist", { SKERRY_STATE: state });
  const leftOut = await writeServiceSettings(installation, layout);
  expect(leftOut).toEqual(expect.arrayContaining(["NODE_OPTIONS", "LD_PRELOAD", "SKERRY_LISTN"]));
  const file = join(root, installation.settings);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(readSettings(await readFile(file, "utf8"))).toEqual({
    SKERRY_TLS_CERT: "/etc/cert.pem",
    SKERRY_QUOTA_SANDBOXES: "7",
    SKERRY_LISTEN: "127.0.0.1:7171",
    SKERRY_STATE: state,
  });
});
