import { expect, test } from "vitest";
import type { Outcome } from "../src/local/doctor/outcome.ts";
import {
  checkIoUring,
  checkKsm,
  checkNested,
  checkSelinux,
  checkSmt,
  checkSwap,
  checkUserNamespaces,
  checkVulnerabilities,
} from "../src/local/doctor/isolation-checks.ts";
import type { SystemFiles } from "../src/local/doctor/system-files.ts";
import { plantedFiles } from "./support/planted-files.ts";

const CPU = "/sys/devices/system/cpu";
const KERNEL = "6.1.0-40-amd64";
const swapWithoutLimits = (files: SystemFiles): Promise<Outcome> => checkSwap(files, false);
const smt = (files: SystemFiles): Promise<Outcome> => checkSmt(files, KERNEL);

test.each<[string, (files: SystemFiles) => Promise<Outcome>, Record<string, string>, string, string]>([
  ["a kernel without KSM", checkKsm, {}, "ok", "merges no pages"],
  ["KSM that rests", checkKsm, { "/sys/kernel/mm/ksm/run": "0\n" }, "ok", "off"],
  ["KSM that runs", checkKsm, { "/sys/kernel/mm/ksm/run": "1\n" }, "ok", "take no part"],
  [
    "a CPU with one thread a core",
    smt,
    { [`${CPU}/smt/control`]: "notsupported" },
    "ok",
    "no two programs share a core",
  ],
  [
    "two threads a core and core scheduling",
    smt,
    { [`${CPU}/smt/control`]: "on", [`/boot/config-${KERNEL}`]: "CONFIG_SMP=y\nCONFIG_SCHED_CORE=y\n" },
    "ok",
    "by core scheduling",
  ],
  [
    "two threads a core without it",
    smt,
    { [`${CPU}/smt/control`]: "on", [`/boot/config-${KERNEL}`]: "# CONFIG_SCHED_CORE is not set\n" },
    "warning",
    "has no core scheduling",
  ],
  [
    "two threads a core of a kernel that hides its settings",
    smt,
    { [`${CPU}/smt/control`]: "on" },
    "warning",
    "cannot be read",
  ],
  [
    "mitigated flaws",
    checkVulnerabilities,
    {
      [`${CPU}/vulnerabilities/l1tf`]: "Not affected",
      [`${CPU}/vulnerabilities/mds`]: "Mitigation: Clear CPU buffers; SMT Host state unknown",
    },
    "ok",
    "2 known, none open",
  ],
  [
    "open flaws",
    checkVulnerabilities,
    {
      [`${CPU}/vulnerabilities/l1tf`]: "Not affected",
      [`${CPU}/vulnerabilities/retbleed`]: "Vulnerable",
      [`${CPU}/vulnerabilities/mds`]: "Vulnerable: Clear CPU buffers attempted, no microcode",
    },
    "warning",
    "open: retbleed, mds",
  ],
  ["a kernel that is silent about flaws", checkVulnerabilities, {}, "warning", "does not tell"],
  ["no swap", swapWithoutLimits, { "/proc/swaps": "Filename\t\tType\n" }, "ok", "none"],
  [
    "swap in memory",
    swapWithoutLimits,
    { "/proc/swaps": "Filename\tType\n/dev/zram0\tpartition\t1024\t0\t100\n" },
    "ok",
    "zram",
  ],
  [
    "swap on disk",
    swapWithoutLimits,
    { "/proc/swaps": "Filename\tType\n/swapfile\tfile\t1024\t0\t-2\n/dev/sda2\tpartition\t9\t0\t-3\n" },
    "warning",
    "2 areas on disk",
  ],
  [
    "swap on disk that VMs are kept out of",
    (files) => checkSwap(files, true),
    { "/proc/swaps": "Filename\tType\n/swapfile\tfile\t1024\t0\t-2\n" },
    "ok",
    "keep VMs out",
  ],
  ["a machine without SELinux", checkSelinux, {}, "ok", "not enforcing"],
  [
    "SELinux that lets us",
    checkSelinux,
    {
      "/sys/fs/selinux/enforce": "1",
      "/proc/self/attr/current": "unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023\0",
    },
    "ok",
    "unconfined",
  ],
  [
    "SELinux that confines us",
    checkSelinux,
    { "/sys/fs/selinux/enforce": "1", "/proc/self/attr/current": "system_u:system_r:init_t:s0\0" },
    "warning",
    "confined (system_u:system_r:init_t:s0)",
  ],
  ["no KVM of a vendor", checkNested, {}, "ok", "neither"],
  [
    "nested virtualization that is off",
    checkNested,
    { "/sys/module/kvm_amd/parameters/nested": "0" },
    "ok",
    "off",
  ],
  [
    "nested virtualization that is on",
    checkNested,
    { "/sys/module/kvm_intel/parameters/nested": "Y" },
    "ok",
    "neither vmx nor svm",
  ],
  [
    "io_uring for root alone",
    checkIoUring,
    { "/proc/sys/kernel/io_uring_disabled": "1" },
    "ok",
    "off for users",
  ],
  [
    "io_uring for all",
    checkIoUring,
    { "/proc/sys/kernel/io_uring_disabled": "0" },
    "warning",
    "open to all users",
  ],
  ["a kernel that cannot close io_uring", checkIoUring, {}, "warning", "cannot turn it off"],
  [
    "user namespaces of root alone",
    checkUserNamespaces,
    { "/proc/sys/kernel/unprivileged_userns_clone": "0", "/proc/sys/user/max_user_namespaces": "9" },
    "ok",
    "users can make none",
  ],
  [
    "user namespaces that AppArmor restricts",
    checkUserNamespaces,
    {
      "/proc/sys/user/max_user_namespaces": "9",
      "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
    },
    "ok",
    "AppArmor",
  ],
  [
    "user namespaces for all",
    checkUserNamespaces,
    { "/proc/sys/user/max_user_namespaces": "9" },
    "warning",
    "every user",
  ],
])("doctor judges %s", async (...[, check, files, verdict, found]) => {
  const outcome = await check(plantedFiles(files));
  expect(outcome.verdict).toBe(verdict);
  expect(outcome.found).toContain(found);
  expect(outcome.remedy !== "").toBe(verdict !== "ok");
});
