import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SystemTrial } from "@skerry/contract/platform/supported-systems";
import { cgroupTree, limitsOutcome, tryLimits } from "../src/local/doctor/cgroup-limits.ts";
import { checkFirmware } from "../src/local/doctor/check-firmware.ts";
import { exitCodeOf, runChecks } from "../src/local/doctor/doctor.ts";
import { connectionsOutcome } from "../src/local/doctor/kernel-checks.ts";
import { checkSupported, supportedOutcome } from "../src/local/doctor/check-supported.ts";
import { fault, ok, warning } from "../src/local/doctor/outcome.ts";
import { packagesIn } from "../src/local/doctor/program-checks.ts";
import { checkClockSource, checkHugePages, checkNestedPaging } from "../src/local/doctor/speed-checks.ts";
import { plantedFiles } from "./support/planted-files.ts";

test("doctor compares the machine's table of connections with what its guests may have, and says what to do", () => {
  expect(connectionsOutcome(262_144, 100 * 256)).toMatchObject({ verdict: "ok", remedy: "" });
  expect(connectionsOutcome(0, 100 * 256)).toMatchObject({ verdict: "ok" });
  const small = connectionsOutcome(65_536, 100 * 256);
  expect(small.verdict).toBe("warning");
  expect(small.found).toBe("65536 (nf_conntrack_max); each of 100 guests may have 491");
  expect(small.remedy).toContain("sysctl -w net.netfilter.nf_conntrack_max=136534");
});

test("doctor names the folder in which QEMU finds the firmware, and the package where it finds none", async () => {
  const files = plantedFiles({ "/usr/share/qemu/qboot.rom": "", "/usr/share/seabios/bios.bin": "" });
  expect(await checkFirmware(files, ["/usr/share/seabios", "/usr/share/qemu"])).toMatchObject({
    verdict: "ok",
    found: "/usr/share/qemu/qboot.rom",
  });
  const missing = await checkFirmware(files, ["/usr/share/seabios"]);
  expect(missing).toMatchObject({ verdict: "fault" });
  expect(missing.remedy).toContain("qemu-system-data");
});

test("doctor says what was tried on a system like this one, and that nothing was", async () => {
  const trial: SystemTrial = {
    ...{ system: "Debian 13", qemu: "10.0.2 (Debian)", accelerator: "tcg", trial: "first-sandbox" },
    ...{ only: [], passed: true, result: "passed", commit: "abcdef0", date: "2026-11-22", versions: {} },
  };
  const cell = { system: "Debian 13", qemu: "QEMU emulator version 10.0.7", accelerator: "tcg" } as const;
  expect(supportedOutcome(cell, [trial])).toMatchObject({
    verdict: "ok",
    found: "Debian 13, QEMU 10.0, guests emulated: run in parts (first-sandbox 2026-11-22)",
  });
  const withKvm = supportedOutcome({ ...cell, accelerator: "kvm" }, [trial]);
  expect(withKvm).toMatchObject({
    verdict: "warning",
    found: "Debian 13, QEMU 10.0, guests on KVM: not tried",
  });
  expect(withKvm.remedy).toContain("docs/supported.md");
});

test("doctor takes the machine's cell from its own files, and the host's verdict on KVM before its device", async () => {
  const release = { "/etc/os-release": 'ID=ubuntu\nVERSION_ID="24.04"\n' };
  const found = async (files: Record<string, string>) =>
    (await checkSupported(plantedFiles({ ...release, ...files }), "/assets", "QEMU 8.2.2")).found;
  const device = { "/dev/kvm": "" };
  const emulated = { "/assets/accelerator.json": '{"verdict":{"accelerator":"tcg","reason":"it hangs"}}' };
  expect(await found({})).toContain("Ubuntu 24.04, QEMU 8.2, guests emulated:");
  expect(await found(device)).toContain("guests on KVM:");
  expect(await found({ ...device, ...emulated })).toContain("guests emulated:");
});

test("a warning does not fail doctor, a fault does, and a check that breaks is a fault of its own", async () => {
  const shown = "always";
  const found = await runChecks([
    [
      "planted",
      [
        { name: "good", shown, look: () => Promise.resolve(ok("fine")) },
        { name: "poor", shown, look: () => Promise.resolve(warning("slow", "wait")) },
      ],
    ],
  ]);
  const findings = found.map(({ finding }) => finding);
  expect(findings.map(({ section, check, verdict }) => [section, check, verdict])).toEqual([
    ["planted", "good", "ok"],
    ["planted", "poor", "warning"],
  ]);
  expect(exitCodeOf(findings)).toBe(0);
  const look = () => Promise.reject(new Error("EIO"));
  const [broken] = await runChecks([["planted", [{ name: "broken", shown, look }]]]);
  expect(broken?.finding).toMatchObject({ verdict: "fault", found: "Error: EIO" });
  expect(exitCodeOf([...findings, { section: "planted", check: "bad", ...fault("gone", "find it") }])).toBe(
    1,
  );
});

test("doctor tells which limits hold by setting them, and leaves the tree as it was", async () => {
  const tree = await mkdtemp("/tmp/skerry-unit-cgroups-");
  try {
    // No kernel stands behind this folder, so the file of a limit never appears in a cgroup.
    await writeFile(join(tree, "cgroup.controllers"), "cpuset cpu pids\n");
    await writeFile(join(tree, "cgroup.subtree_control"), "cpu\n");
    const tried = await tryLimits(tree);
    expect(tried.refused["memory"]).toBe("not in this tree");
    expect(await readdir(tree)).toEqual(["cgroup.controllers", "cgroup.subtree_control"]);
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
});

test("doctor says which limits do not hold, and why", () => {
  expect(limitsOutcome(undefined)).toMatchObject({ verdict: "warning", found: "no cgroup v2 tree" });
  const tree = "/sys/fs/cgroup";
  expect(limitsOutcome({ tree, held: ["cpu", "memory", "pids"], refused: {} })).toMatchObject({
    verdict: "ok",
    found: "v2 at /sys/fs/cgroup: limits of cpu, memory, pids hold",
  });
  const refused = { cpu: "not in this tree", memory: "EBUSY", pids: "not in this tree" };
  const outcome = limitsOutcome({ tree, held: [], refused });
  expect(outcome).toMatchObject({
    verdict: "warning",
    found: "v2 at /sys/fs/cgroup: no limits of cpu, pids (not in this tree), memory (EBUSY)",
  });
  expect(outcome.remedy).toContain("unified_cgroup_hierarchy");
});

test("doctor finds the tree of cgroup v2 beside one of version 1", () => {
  const mounts =
    "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
  expect(cgroupTree(mounts)).toBe("/sys/fs/cgroup/unified");
  expect(cgroupTree("tmpfs /tmp tmpfs rw 0 0\n")).toBeUndefined();
});

test("doctor judges huge pages, nested paging and the clock by what they cost guests", async () => {
  const pages = (enabled: string) =>
    checkHugePages(plantedFiles({ "/sys/kernel/mm/transparent_hugepage/enabled": enabled }));
  expect(await pages("always [madvise] never")).toMatchObject({ verdict: "ok", found: "madvise" });
  expect(await pages("always madvise [never]")).toMatchObject({ verdict: "warning", found: "never" });
  const file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  const clock = (source: string) => checkClockSource(plantedFiles({ [file]: source }));
  expect(await clock("tsc")).toMatchObject({ verdict: "ok" });
  expect(await clock("kvm-clock")).toMatchObject({ verdict: "ok" });
  expect((await clock("kvm-clock")).found).toContain("system call");
  expect(await clock("hpet")).toMatchObject({ verdict: "warning" });
  const paging = (files: Record<string, string>) => checkNestedPaging(plantedFiles(files));
  expect(await paging({})).toMatchObject({ verdict: "ok" });
  expect(await paging({ "/sys/module/kvm_intel/parameters/ept": "Y" })).toMatchObject({ verdict: "ok" });
  expect(await paging({ "/sys/module/kvm_amd/parameters/npt": "0" })).toMatchObject({ verdict: "warning" });
});

test("of the packages only those that are installed are told", () => {
  const list =
    "qemu-utils 1:7.2+dfsg-7 installed\namd64-microcode  not-installed\nlibc6:amd64 2.36 installed\n";
  expect(packagesIn(list)).toBe("qemu-utils 1:7.2+dfsg-7, libc6:amd64 2.36");
});
