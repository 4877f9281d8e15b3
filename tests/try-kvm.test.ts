// `npm run try-kvm` as a whole, with few rounds.

import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { machineReportOf } from "@skerry/contract/hosts/machine-report";
import { expect, test } from "vitest";

/** It starts three platforms and moves a guest that writes. */
const DEADLINE_MS = 40 * 60_000;

test(
  "a machine is tried from cold boots to moves, and the report says what came of each",
  async () => {
    const folder = await mkdtemp("/tmp/skerry-test-report-");
    try {
      const said = await run("--amount", "quick", "--output", folder);
      const report = machineReportOf(JSON.parse(await readFile(join(folder, "skerry-try-kvm.json"), "utf8")));
      if (report === undefined) throw new Error("the report is not one");
      const bySection = Map.groupBy(report.findings, ({ section }) => section);
      for (const section of ["boot", "clones", "clock", "life", "devices", "rest", "boundary", "moves"])
        expect(bySection.get(section)?.some(({ verdict }) => verdict === "ok")).toBe(true);
      expect(report.findings.filter(({ verdict }) => verdict === "fault")).toEqual([]);
      expect(bySection.get("suites")?.map(({ verdict }) => verdict)).toEqual(["not_tried", "not_tried"]);
      for (const { verdict, remedy } of report.findings) expect(remedy !== "").toBe(verdict === "warning");
      expect(bySection.get("moves")?.flatMap(({ figures }) => figures).length).toBeGreaterThan(1);
      expect(report.traces.map(({ after }) => after)).toEqual(report.traces.map(() => 0));
      expect(await readdir(folder)).toEqual(["skerry-try-kvm.json", "skerry-try-kvm.txt"]);
      expect(said).toContain("skerry-try-kvm.txt");
    } finally {
      await rm(folder, { recursive: true });
    }
  },
  DEADLINE_MS,
);

/** Its platforms are its own, and it counts them itself. */
function run(...args: readonly string[]): Promise<string> {
  const program = join(import.meta.dirname, "../try-kvm/main.ts");
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  let all = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    all += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (all += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve(said) : reject(new Error(`it ended with ${code ?? "a signal"}: ${all}`)),
    );
  });
}
