// `npm run try-kvm`: what a machine with KVM does with Skerry, in two files that can be sent to others: `skerry doctor --thorough`, and on
// platforms of its own devices, rest, moves and the boundary around a VM. Everything is removed at the end and counted.
//
//   npm run try-kvm -- [--amount quick|full|long] [--suites] [--output FOLDER]
//
// `--suites` also runs `npm test` and `npm run bench`, which takes an hour.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { figureOf, type Finding } from "@skerry/contract/hosts/finding";
import type { MachineReport } from "@skerry/contract/hosts/machine-report";
import { assets, Bench } from "../bench/bench.ts";
import { NO_BAR } from "../bench/bars.ts";
import { measureBulk } from "../bench/bulk.ts";
import { measureThroughput } from "../bench/egress.ts";
import { measureExecute } from "../bench/execute.ts";
import { measureCold, measureLife } from "../bench/life.ts";
import { measureMove } from "../bench/move.ts";
import type { Measure } from "../bench/results.ts";
import { exitCodeOf } from "../packages/cli/src/local/doctor/doctor.ts";
import { removalFinding } from "../packages/cli/src/local/doctor/removal-finding.ts";
import { writeReport } from "../packages/cli/src/local/doctor/write-report.ts";
import { namespaces } from "../tests/support/leftovers.ts";
import { skerry } from "../tests/support/platform.ts";
import { NETNS as WORLD } from "../tests/support/world.ts";
import { amounts } from "./amounts.ts";
import { boundaryFindings } from "./boundary.ts";
import { measureDevices } from "./devices.ts";
import { findingsOfMeasures } from "./findings-of-measures.ts";
import { measureLargeMove } from "./large-move.ts";
import { TraceWatch } from "./leftover-traces.ts";
import { measureRest } from "./rest.ts";
import { suiteFindings } from "./suites.ts";

const NAME = "skerry-try-kvm";
const refusals: Finding = {
  ...{ section: "moves", check: "to a host with another CPU", verdict: "not_tried", remedy: "", figures: [] },
  found:
    "both hosts are on this machine; what is refused, and in which words, is tried by packages/contract/tests/move-status.test.ts",
};

const { values: flags } = parseArgs({
  options: {
    amount: { type: "string", default: "full" },
    suites: { type: "boolean", default: false },
    output: { type: "string", default: "." },
  },
});
const amount = (amounts as Readonly<Record<string, (typeof amounts)[keyof typeof amounts]>>)[flags.amount];
if (amount === undefined)
  throw new Error(`--amount is ${Object.keys(amounts).join(", ")}, not ${flags.amount}`);
if (process.getuid?.() !== 0) throw new Error("it starts VMs, which needs root: sudo npm run try-kvm");
process.exitCode = await tryKvm(amount);

/** Resolves with the exit code. */
async function tryKvm(how: typeof amount & object): Promise<number> {
  const startedMs = Date.now();
  const folder = await mkdtemp("/tmp/skerry-try-");
  const register = join(folder, "instances");
  await writeFile(register, "");
  process.env["SKERRY_TEST_REGISTER"] = register;
  const watch = new TraceWatch(() => readFile(register, "utf8"));
  const interrupt = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.once(name, () => interrupt.abort(new Error(`ended by ${name}`)));
  try {
    const { doctor, findings } = await examine({ how, folder, watch, signal: interrupt.signal });
    findings.push(...(await suiteFindings(flags.suites, interrupt.signal)));
    const { traces, left } = await watch.end();
    const all = [
      ...doctor.findings,
      ...findings,
      { ...removalFinding(left, traces), check: "platforms removed" },
    ];
    const report: MachineReport = {
      ...doctor,
      ...{
        program: "npm run try-kvm",
        amount: flags.amount,
        findings: all,
        took_s: (Date.now() - startedMs) / 1_000,
      },
      traces: doctor.traces.map((one) => {
        const more = traces.find(({ kind }) => kind === one.kind);
        return { ...one, during: one.during + (more?.during ?? 0), after: one.after + (more?.after ?? 0) };
      }),
    };
    for (const { section, check, verdict, found } of all)
      if (verdict === "fault") process.stderr.write(`FAULT ${section}, ${check}: ${found}\n`);
    for (const file of await writeReport({ folder: flags.output, name: NAME }, report))
      process.stdout.write(`${file}\n`);
    return exitCodeOf(all);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Examined {
  readonly how: NonNullable<typeof amount>;
  readonly folder: string;
  readonly watch: TraceWatch;
  readonly signal: AbortSignal;
}

async function examine({
  how,
  folder,
  watch,
  signal,
}: Examined): Promise<{ doctor: MachineReport; findings: Finding[] }> {
  const findings: Finding[] = [];
  // It is stopped on the way out, also where a part throws.
  await using bench = await Bench.open(how.bench);
  process.stderr.write("skerry doctor --thorough …\n");
  const doctor = await doctorReport(bench, { folder, amount: how.doctor });
  const isEmulated = doctor.emulated;
  const parts: readonly (readonly [section: string, () => Promise<readonly (Measure | Finding)[]>])[] = [
    ["life", () => measureLife(bench)],
    ["life", () => measureCold(bench)],
    ["life", () => measureExecute(bench)],
    ["devices", () => measureDevices(bench, how)],
    ["devices", () => measureBulk(bench)],
    ["devices", () => throughput(bench)],
    ["rest", () => measureRest(bench, how)],
    ["boundary", () => boundaryFindings(bench, { isEmulated })],
    ["moves", () => measureMove(bench)],
    ["moves", () => measureLargeMove(how, { isEmulated })],
    ["moves", () => Promise.resolve([refusals])],
  ];
  const interrupted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
  interrupted.catch(() => undefined); // there may be nothing left to interrupt
  for (const [section, measure] of parts) {
    signal.throwIfAborted();
    process.stderr.write(`${section} … `);
    const partMs = performance.now();
    findings.push(...(await Promise.race([findingsOf(section, measure, isEmulated), interrupted])));
    await watch.look();
    process.stderr.write(`${((performance.now() - partMs) / 1_000).toFixed(0)} s\n`);
  }
  return { doctor, findings };
}

/** The networks behind it exist once on a machine, and a test run holds them for minutes. */
async function throughput(bench: Bench): Promise<readonly Measure[]> {
  if ((await namespaces(WORLD)).length === 0) return measureThroughput(bench);
  const what = "TCP out of a guest";
  return [
    {
      what,
      unit: "MB/s",
      samples: [],
      bar: NO_BAR,
      skipped: "a test run on this machine holds the networks for it",
    },
  ];
}

async function findingsOf(
  section: string,
  measure: () => Promise<readonly (Measure | Finding)[]>,
  isEmulated: boolean,
): Promise<Finding[]> {
  const startedMs = performance.now();
  try {
    const found = await measure();
    const measures = found.filter((one): one is Measure => "samples" in one);
    const findings = found.filter((one): one is Finding => !("samples" in one));
    return [...findings, ...findingsOfMeasures(section, measures, { isEmulated })];
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [
      {
        ...{ section, check: "broken off", verdict: "fault", found: message },
        remedy: "Report it with this file.",
        figures: [figureOf("after", "s", [(performance.now() - startedMs) / 1_000])],
      },
    ];
  }
}

/** Beside the platform, with its kernel and disks. A fault makes the command fail after it has written. */
async function doctorReport(
  { platform }: Bench,
  { folder, amount: doctorAmount }: { readonly folder: string; readonly amount: string },
): Promise<MachineReport> {
  const env = { ...platform.env, SKERRY_HOST_ASSETS: assets };
  await skerry(env, "doctor", "--thorough", "--amount", doctorAmount, "--output", folder).catch(
    (error: unknown) => process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`),
  );
  return JSON.parse(await readFile(join(folder, "skerry-doctor.json"), "utf8")) as MachineReport; // of the same build
}
