// `skerry doctor --thorough` beside a Skerry that runs, with few rounds.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { machineReportOf } from "@skerry/contract/hosts/machine-report";
import { expect, inject, test } from "vitest";
import { namespaces, qemuProcesses } from "./support/leftovers.ts";
import { skerry, until } from "./support/platform.ts";
import { imageCache } from "./support/test-cache.ts";

/** It boots guests one after the other. */
const DEADLINE_MS = 20 * 60_000;

const env = () => ({
  SKERRY_STATE: inject("platformState"),
  SKERRY_HOST_ASSETS: inject("assets"),
  SKERRY_IMAGE_CACHE: imageCache,
});

/** Folders of examinations under way. */
async function examinations(): Promise<string[]> {
  return (await readdir(inject("platformState"))).filter((name) => name.startsWith("doctor-"));
}

test(
  "a thorough doctor tries guests on a host of its own, writes two files, and leaves nothing",
  async () => {
    const folder = await mkdtemp("/tmp/skerry-test-report-");
    try {
      await skerry(env(), "doctor", "--thorough", "--amount", "quick", "--output", folder);
      const report = machineReportOf(JSON.parse(await readFile(join(folder, "skerry-doctor.json"), "utf8")));
      if (report === undefined) throw new Error("the report is not one");
      const bySection = Map.groupBy(report.findings, ({ section }) => section);
      const sections = ["programs", "kernel", "resources", "isolation", "speed"];
      expect([...bySection.keys()]).toEqual([
        ...sections,
        ...["boot", "clones", "clock", "restore", "removal"],
      ]);
      expect(report.findings.filter(({ verdict }) => verdict === "fault")).toEqual([]);
      for (const { verdict, found, remedy } of report.findings) {
        expect(found).not.toBe("");
        expect(remedy !== "").toBe(verdict === "warning");
      }
      expect(bySection.get("clones")?.find(({ check }) => check === "clones at once")?.figures).toHaveLength(
        5,
      );
      expect(report.emulation_hides.length > 0).toBe(report.emulated);
      expect(report.traces.find(({ kind }) => kind === "processes")?.during).toBeGreaterThan(0);
      expect(report.traces.map(({ after }) => after)).toEqual(report.traces.map(() => 0));
      expect(await readFile(join(folder, "skerry-doctor.txt"), "utf8")).toContain("REMOVED AT THE END");
      expect(await examinations()).toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
  DEADLINE_MS,
);

test(
  "a thorough doctor that is interrupted leaves nothing either",
  async () => {
    const program = join(import.meta.dirname, "../dist/skerry.js");
    const child = spawn(process.execPath, [program, "doctor", "--thorough", "--output", "/nowhere"], {
      env: { ...process.env, ...env() },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    const ended = new Promise((resolve) => child.once("close", resolve));
    const vms = async () => {
      const [folder] = await examinations();
      return folder === undefined ? [] : qemuProcesses(instanceOf(folder));
    };
    const hasVm = async () => {
      if (child.exitCode !== null) throw new Error(`it ended by itself: ${said}`);
      return (await vms()).length > 0;
    };
    await until("it has a VM", hasVm, DEADLINE_MS);
    const [folder = ""] = await examinations();
    child.kill("SIGINT");
    await ended;
    expect(child.exitCode).not.toBe(0);
    expect(await examinations()).toEqual([]);
    expect(await qemuProcesses(instanceOf(folder))).toEqual([]);
    expect(await namespaces(instanceOf(folder))).toEqual([]);
  },
  DEADLINE_MS,
);

/** As a host in this folder names its processes. */
function instanceOf(folder: string): string {
  const digest = createHash("sha256")
    .update(join(inject("platformState"), folder))
    .digest("hex");
  return `skerry-${digest.slice(0, 6)}`;
}
