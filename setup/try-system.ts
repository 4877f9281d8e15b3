// Tries Skerry on a system of the supported matrix, and with --record writes what came of it into the matrix (docs/supported.md).
//
//   npm run try-system -- trixie first-sandbox              Debian 13 from bare on: packages, build, `skerry up`, a sandbox
//   npm run try-system -- trixie end-to-end                 the end-to-end tests there
//   npm run try-system -- trixie end-to-end tests/move.test.ts
//   npm run try-system -- bookworm end-to-end --qemu-from bookworm-backports
//   npm run try-system -- here end-to-end                   on this machine as it is
//
// Needs root. A Debian root is made with mmdebstrap from the sources that this machine's apt has, and runs as a container would: with its own
// compiler, libraries, QEMU, npm and PostgreSQL, and with this machine's kernel, network and devices. The commit is tried, not what is
// changed in the checkout. --root DIR keeps the root for another trial, and --again then runs only the
// files that failed at the last one, with what was tried then.

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  withTrial,
  type SystemTrial,
  type TrialName,
} from "../packages/contract/src/platform/supported-systems.ts";
import { ensureRoot } from "./debian-root.ts";
import type { SystemFacts } from "./system-facts.ts";
import { failedFiles, renewed, resultOf, type TestReport } from "./test-report.ts";

const checkout = join(import.meta.dirname, "..");
const records = join(checkout, "packages/contract/src/platform/system-trials.json");
const TRIALS: readonly TrialName[] = ["first-sandbox", "end-to-end", "kvm"];
/** Where a root has the commit. */
const THERE = "/skerry";
const REPORT = ".trial.json";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "qemu-from": { type: "string" },
    root: { type: "string" },
    note: { type: "string" },
    again: { type: "boolean", default: false },
    record: { type: "boolean", default: false },
  },
});
const [system = "", name, ...only] = positionals;
const trial = trialNamed(name);

const head = git("rev-parse", "--short", "HEAD");
process.exitCode = system === "here" ? tryIn(undefined) : tryInRoot(system);

function trialNamed(wanted: string | undefined): TrialName {
  const found = TRIALS.find((known) => known === wanted);
  if (found !== undefined) return found;
  const flags = "[FILE]... [--qemu-from SUITE] [--root DIR] [--again] [--note TEXT] [--record]";
  throw new Error(`usage: npm run try-system -- here|SUITE ${TRIALS.join("|")} ${flags}`);
}

function tryInRoot(suite: string): number {
  const root = values.root ?? mkdtempSync("/tmp/skerry-system-");
  try {
    ensureRoot(root, { suite, qemuFrom: values["qemu-from"] });
    chmodSync(root, 0o755);
    if (!values.again) copyCommit(join(root, THERE));
    return tryIn(root);
  } finally {
    if (values.root === undefined) rmSync(root, { recursive: true, force: true });
  }
}

function copyCommit(folder: string): void {
  for (const name of git("ls-tree", "--name-only", head).split("\n"))
    rmSync(join(folder, name), { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const copied = spawnSync("bash", ["-c", 'git archive "$2" | tar -x -C "$1"', "copy", folder, head], {
    cwd: checkout,
    stdio: "inherit",
  });
  if (copied.status !== 0) throw new Error("the commit could not be copied");
}

/** On this machine itself where there is no root. */
function tryIn(root: string | undefined): number {
  const { passed, result, minutes, commit } =
    trial === "first-sandbox" ? firstSandbox(root) : tests(root, trial);
  const { stdout } = run(root, "pipe", "setup/with-node.sh", "node", "setup/system-facts.ts");
  const printed = /^\{.*\}$/m.exec(stdout)?.[0];
  if (printed === undefined) throw new Error("not even Node came up there; see above");
  const facts = JSON.parse(printed) as SystemFacts;
  const accelerator = trial === "kvm" ? "kvm" : acceleratorIn(join(seenFrom(root), ".cache"));
  const tried: SystemTrial = {
    ...{ system: facts.system, qemu: facts.qemu, accelerator, trial, only, passed },
    ...{ result: `${result}; ${minutes} minutes`, commit, date: new Date().toISOString().slice(0, 10) },
    ...(values.note === undefined ? {} : { note: values.note }),
    versions: facts.versions,
  };
  process.stdout.write(`${JSON.stringify(tried, undefined, 2)}\n`);
  if (values.record) record(tried);
  return passed ? 0 : 1;
}

interface Outcome {
  readonly commit: string;
  readonly passed: boolean;
  readonly result: string;
  /** What it took, with --again together with the trial before. */
  readonly minutes: number;
}

function minutesSince(startedMs: number): number {
  return Math.ceil((performance.now() - startedMs) / 60_000);
}

function firstSandbox(root: string | undefined): Outcome {
  const startedMs = performance.now();
  const passed = run(root, "inherit", "setup/trial.sh", "first-sandbox").status === 0;
  const place = root === undefined ? "on the machine itself" : "in a root";
  return {
    commit: head,
    passed,
    result: `${passed ? "created, used and destroyed" : "no sandbox"} ${place}`,
    minutes: minutesSince(startedMs),
  };
}

/** As vitest writes it; the rest is ours. */
type KeptReport = TestReport & Partial<Pick<Outcome, "commit" | "minutes">>;

function tests(root: string | undefined, project: string): Outcome {
  const startedMs = performance.now();
  const file = join(seenFrom(root), REPORT);
  const read = () => JSON.parse(readFileSync(file, "utf8")) as KeptReport;
  const earlier = values.again ? read() : undefined;
  const files = earlier === undefined ? only : failedFiles(earlier);
  rmSync(file, { force: true });
  const { status } = run(root, "inherit", "setup/trial.sh", project, REPORT, ...files);
  if (!existsSync(file)) throw new Error("the tests did not begin; see above");
  const report = earlier === undefined ? read() : renewed(earlier, read());
  const commit = earlier?.commit ?? head;
  const minutes = (earlier?.minutes ?? 0) + minutesSince(startedMs);
  writeFileSync(file, JSON.stringify({ ...report, commit, minutes }));
  const result = resultOf(report, root === undefined ? checkout : THERE);
  return { commit, passed: status === 0 && failedFiles(report).length === 0, result, minutes };
}

/** The checkout that is tried, as a path on this machine. */
function seenFrom(root: string | undefined): string {
  return root === undefined ? checkout : join(root, THERE);
}

function git(...args: readonly string[]): string {
  return spawnSync("git", args, { cwd: checkout, encoding: "utf8" }).stdout.trim();
}

/** Runs a script of the checkout, there or here. */
function run(
  root: string | undefined,
  stdio: "inherit" | "pipe",
  script: string,
  ...args: readonly string[]
) {
  const there = [join(checkout, "setup/in-root.sh"), root ?? "", "env", "-C", THERE, ...settings(), "bash"];
  return spawnSync("bash", [...(root === undefined ? [] : there), script, ...args], {
    ...{ cwd: checkout, encoding: "utf8" },
    stdio: ["ignore", stdio, "inherit"],
  });
}

/** For npm's registry, proxies and their certificates, and our own settings. */
function settings(): string[] {
  const registry = spawnSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).stdout.trim();
  const own = Object.entries(process.env).filter(([key]) =>
    /^SKERRY_|^CI$|^NODE_EXTRA_CA_CERTS$|_proxy$/i.test(key),
  );
  return [...own.map(([key, value]) => `${key}=${value}`), `npm_config_registry=${registry}`];
}

/** What the host has decided. Without /dev/kvm it has nothing to decide. */
function acceleratorIn(cache: string): SystemTrial["accelerator"] {
  const files = readdirSync(cache).map((folder) => join(cache, folder, "accelerator.json"));
  const file = files.find((one) => existsSync(one));
  if (file === undefined) return "tcg";
  const { verdict } = JSON.parse(readFileSync(file, "utf8")) as {
    verdict: { accelerator: SystemTrial["accelerator"] };
  };
  return verdict.accelerator;
}

function record(tried: SystemTrial): void {
  const all = JSON.parse(readFileSync(records, "utf8")) as SystemTrial[];
  writeFileSync(records, `${JSON.stringify(withTrial(all, tried), undefined, 2)}\n`);
  spawnSync(process.execPath, [join(checkout, "setup/write-supported.ts")], { stdio: "inherit" });
}
