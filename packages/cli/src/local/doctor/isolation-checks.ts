// What the kernel of this machine adds to the isolation of VMs from each other, or takes from it. Nothing here keeps a VM from running, so
// nothing is a fault.

import type { Check } from "./check.ts";
import { checkDiskEncryption } from "./disk-encryption.ts";
import { ok, warning, type Outcome } from "./outcome.ts";
import type { SystemFiles } from "./system-files.ts";
import { counted } from "../../output/counted.ts";

const CPU = "/sys/devices/system/cpu";

export interface IsolationFacts {
  readonly files: SystemFiles;
  readonly kernelRelease: string;
  /** Whether a limit of memory holds for a cgroup here; VMs are then kept out of swap. */
  readonly limitsMemory: () => Promise<boolean>;
  /** `MAJOR:MINOR` of the device that the state folder is on. */
  readonly stateDevice: () => Promise<string>;
}

export function isolationChecks({
  files,
  kernelRelease,
  limitsMemory,
  stateDevice,
}: IsolationFacts): readonly Check[] {
  return [
    { name: "ksm", shown: "unless_ok", look: () => checkKsm(files) },
    { name: "smt", shown: "unless_ok", look: () => checkSmt(files, kernelRelease) },
    { name: "cpu flaws", shown: "unless_ok", look: () => checkVulnerabilities(files) },
    { name: "swap", shown: "unless_ok", look: async () => checkSwap(files, await limitsMemory()) },
    { name: "selinux", shown: "unless_ok", look: () => checkSelinux(files) },
    {
      name: "disk encryption",
      shown: "thorough",
      look: async () => checkDiskEncryption(files, await stateDevice()),
    },
    { name: "nested", shown: "thorough", look: () => checkNested(files) },
    { name: "io_uring", shown: "thorough", look: () => checkIoUring(files) },
    { name: "user namespaces", shown: "thorough", look: () => checkUserNamespaces(files) },
  ];
}

/** The kernel merges equal pages of processes that ask for it, as QEMU does unless it is told not to; how long a write to such a page takes
 *  tells what others have in memory. */
export async function checkKsm(files: SystemFiles): Promise<Outcome> {
  const run = await files.read("/sys/kernel/mm/ksm/run");
  if (run !== "1")
    return ok(run === undefined ? "the kernel merges no pages" : "off (/sys/kernel/mm/ksm/run is not 1)");
  return ok("on, for other programs: Skerry's VMs take no part");
}

/** Two threads of a core share its caches and buffers, through which flaws of CPUs leak. */
export async function checkSmt(files: SystemFiles, kernelRelease: string): Promise<Outcome> {
  const control = (await files.read(`${CPU}/smt/control`)) ?? "unknown";
  if (control !== "on") return ok(`no two programs share a core (smt/control: ${control})`);
  const config = await files.read(`/boot/config-${kernelRelease}`);
  if (config !== undefined && /^CONFIG_SCHED_CORE=y$/m.test(config))
    return ok("on; VMs never share a core, by core scheduling");
  const offers = config === undefined ? "its settings cannot be read" : "has no core scheduling";
  return warning(
    `on, and the kernel ${offers}: VMs of different tenants can share a core`,
    "Where tenants do not trust each other: boot with nosmt, or with a kernel that has CONFIG_SCHED_CORE.",
  );
}

export async function checkVulnerabilities(files: SystemFiles): Promise<Outcome> {
  const folder = `${CPU}/vulnerabilities`;
  const names = await files.list(folder);
  if (names.length === 0) return warning("the kernel does not tell", "Use a kernel from 4.15 on.");
  const states = await Promise.all(
    names.map(async (name) => [name, (await files.read(`${folder}/${name}`)) ?? ""] as const),
  );
  const open = states.filter(([, state]) => state.startsWith("Vulnerable")).map(([name]) => name);
  if (open.length === 0) return ok(`${names.length} known, none open`);
  return warning(
    `open: ${open.join(", ")}`,
    "Update kernel and microcode (intel-microcode or amd64-microcode) and drop mitigations=off; in a cloud VM the provider decides.",
  );
}

export async function checkSwap(files: SystemFiles, limitsMemory: boolean): Promise<Outcome> {
  const [, ...lines] = ((await files.read("/proc/swaps")) ?? "").split("\n");
  const devices = lines.map((line) => line.split(/\s+/)[0] ?? "").filter((name) => name !== "");
  const onDisk = devices.filter((name) => !name.startsWith("/dev/zram"));
  if (onDisk.length === 0) return ok(devices.length === 0 ? "none" : "in memory only (zram)");
  if (limitsMemory) return ok("on disk; limits of memory keep VMs out of it");
  return warning(
    `${counted(onDisk.length, "area")} on disk: what guests have in memory can be written there`,
    "swapoff -a and take it out of /etc/fstab, or encrypt it. Guests that are swapped out are slow, too.",
  );
}

export async function checkSelinux(files: SystemFiles): Promise<Outcome> {
  if ((await files.read("/sys/fs/selinux/enforce")) !== "1") return ok("not enforcing");
  const context = ((await files.read("/proc/self/attr/current")) ?? "").replaceAll("\0", "");
  if (context.includes("unconfined_t")) return ok("enforcing; this process is unconfined");
  return warning(
    `enforcing, and this process is confined (${context || "unknown"})`,
    "Start Skerry from an unconfined root shell; where something is refused, `ausearch -m avc -ts recent` names it.",
  );
}

export async function checkNested(files: SystemFiles): Promise<Outcome> {
  for (const name of ["kvm_intel", "kvm_amd"]) {
    const nested = await files.read(`/sys/module/${name}/parameters/nested`);
    if (nested === undefined) continue;
    if (nested === "N" || nested === "0") return ok(`off (${name})`);
    return ok(`on (${name}); Skerry's guests see neither vmx nor svm`);
  }
  return ok("neither kvm_intel nor kvm_amd is loaded");
}

export async function checkIoUring(files: SystemFiles): Promise<Outcome> {
  const disabled = await files.read("/proc/sys/kernel/io_uring_disabled");
  if (disabled === "2" || disabled === "1") return ok(`off for users (io_uring_disabled = ${disabled})`);
  return warning(
    disabled === undefined ? "open to all users; this kernel cannot turn it off" : "open to all users",
    "Unless another program needs it: sysctl -w kernel.io_uring_disabled=1 (and in /etc/sysctl.d), Linux 6.6 or newer.",
  );
}

/** In one of its own a user that has broken out reaches much more of the kernel. Skerry starts everything as root and needs none. */
export async function checkUserNamespaces(files: SystemFiles): Promise<Outcome> {
  const [clone, most, restricted] = await Promise.all(
    [
      "/proc/sys/kernel/unprivileged_userns_clone",
      "/proc/sys/user/max_user_namespaces",
      "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    ].map((path) => files.read(path)),
  );
  if (clone === "0" || most === "0") return ok("users can make none");
  if (restricted === "1") return ok("AppArmor restricts those that users make");
  return warning(
    "every user can make them",
    "Unless another program (a browser, rootless containers) needs them: sysctl -w user.max_user_namespaces=0 (and in /etc/sysctl.d).",
  );
}
