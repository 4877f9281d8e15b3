import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { machineReportOf, type MachineReport } from "@skerry/contract/hosts/machine-report";
import { expect, test } from "vitest";
import { compareReports } from "../src/local/doctor/compare-reports.ts";
import { fileFacts } from "../src/local/doctor/machine-facts.ts";
import { redact } from "../src/local/doctor/redact.ts";
import { removalFinding } from "../src/local/doctor/removal-finding.ts";
import { earlierReport, writeReport } from "../src/local/doctor/write-report.ts";
import { plantedFiles } from "./support/planted-files.ts";

const name = "skerry-doctor";
const report: MachineReport = {
  ...{ format: 1, program: "skerry doctor --thorough", skerry_version: "0.1.0", amount: "quick" },
  ...{ made_at: "2026-11-20T10:00:00.000Z", took_s: 61.5, emulated: true, emulation_hides: ["its speed"] },
  machine: { CPU: "2 × Xeon", kernel: "6.1.0-40-amd64", boot: "0123456789ab" },
  findings: [
    { section: "boot", check: "probe", verdict: "ok", found: "a guest booted", remedy: "", figures: [] },
    {
      ...{ section: "clones", check: "clones at once", verdict: "warning", found: "slow" },
      remedy: "look for a busy machine",
      figures: [{ what: "answered", unit: "ms", samples: 20, median: 40, p99: 90, worst: 95 }],
    },
  ],
  traces: [{ kind: "processes", before: 0, during: 20, after: 0 }],
};

test("a report is two files, one for programs and one for people", async () => {
  const folder = await mkdtemp("/tmp/skerry-unit-report-");
  try {
    const [json, text] = await writeReport({ folder: join(folder, "made"), name }, report);
    const read: unknown = JSON.parse(await readFile(json, "utf8"));
    expect(machineReportOf(read)).toEqual(report);
    expect(machineReportOf({ ...report, format: 2 })).toBeUndefined();
    const words = await readFile(text, "utf8");
    expect(words).toContain("1 ok, 1 warnings, 0 faults, 0 not tried");
    expect(words).toMatch(/clones at once +WARNING +slow\n +-> look for a busy machine/);
    expect(words).toContain("answered: median 40, p99 90, worst 95 ms (20)");
    expect(words).toContain("GUESTS WERE EMULATED");
    expect(words).toMatch(/processes +0, 20, 0/);
    expect(await earlierReport({ folder: join(folder, "made"), name })).toEqual(report);
    expect(await earlierReport({ folder, name })).toBeUndefined();
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("what would tell whose machine it is does not get into the files, wherever it stood", async () => {
  const folder = await mkdtemp("/tmp/skerry-unit-report-");
  try {
    const found = `rack-7 at 192.0.2.7 and fe80::1:2:3 took jtk_01m7z6v3fq.x3Jb.Kt0s`;
    const [first] = report.findings;
    if (first === undefined) throw new Error("no finding");
    const leaky = { ...report, machine: { name: "rack-7" }, findings: [{ ...first, found }] };
    for (const file of await writeReport({ folder, name, hostName: "rack-7" }, leaky)) {
      const text = await readFile(file, "utf8");
      for (const secret of ["rack-7", "192.0.2.7", "fe80", "jtk_01"]) expect(text).not.toContain(secret);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test.each([
  ["rack-7 listens", "[host name] listens"],
  ["crack-7 and rack-70", "crack-7 and rack-70"],
  ["http://10.0.0.4:7070/v1", "http://[address]:7070/v1"],
  ["127.0.0.1 answers", "127.0.0.1 answers"],
  ["2001:db8:1:2:3:4:5:6 answers", "[address] answers"],
  ["a card 52:54:00:12:34:56", "a card [address]"],
  ["at 17:05:11 of 1:7.2+dfsg-7+deb12u18", "at 17:05:11 of 1:7.2+dfsg-7+deb12u18"],
  ["postgresql://me:secret@db.example/skerry", "postgresql://[password]@db.example/skerry"],
  ["SKERRY_API_TOKEN=sk_0123456789abcdef", "SKERRY_API_TOKEN=[token]"],
])("of %j a report keeps %j", (text, kept) => {
  expect(redact(text, "rack-7")).toBe(kept);
});

test("a second report says what has changed under the frozen templates, and whether the machine was booted", () => {
  const now = { ...report.machine, boot: "ba9876543210" };
  expect(compareReports(undefined, now)).toMatchObject({ verdict: "not_tried" });
  expect(compareReports(report, report.machine).found).toContain("nothing has changed");
  expect(compareReports(report, report.machine).found).toContain("without a reboot");
  expect(compareReports(report, now).found).toContain("over a reboot");
  expect(compareReports(report, { ...now, CPU: "2 × EPYC" }).found).toContain(
    "CPU was 2 × Xeon and is 2 × EPYC",
  );
});

test("what is left of an examination is a fault that names it", () => {
  expect(removalFinding([], report.traces)).toMatchObject({
    verdict: "ok",
    found: "nothing is left of 20 processes",
  });
  expect(removalFinding(["links: sk1a2b3c-1"], report.traces)).toMatchObject({
    verdict: "fault",
    found: "left: links: sk1a2b3c-1",
  });
});

test("of a machine its kind is told: CPU, modules with their parameters, and two boots apart", async () => {
  const facts = await fileFacts(
    plantedFiles({
      "/etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\n',
      "/proc/cpuinfo":
        "processor\t: 0\nmodel name\t: EPYC\nmicrocode\t: 0xa1\nflags\t\t: fpu svm\n\nprocessor\t: 1\n",
      "/proc/sys/kernel/random/boot_id": "6ff3dcc6-7fe3-4bc6-9ea8-1d5a6a4b9a6e\n",
      "/sys/module/kvm_amd/parameters/nested": "1\n",
      "/sys/module/kvm_amd/parameters/npt": "Y\n",
      "/sys/module/kvm/parameters/halt_poll_ns": "200000\n",
      "/sys/module/ext4/parameters/x": "1\n",
    }),
  );
  expect(facts).toMatchObject({
    system: "Debian GNU/Linux 13 (trixie)",
    CPU: "2 × EPYC",
    microcode: "0xa1",
    "CPU flags": "fpu svm",
    "KVM modules": "kvm (halt_poll_ns=200000), kvm_amd (nested=1 npt=Y)",
  });
  expect(facts["boot"]).toMatch(/^[0-9a-f]{12}$/);
});
