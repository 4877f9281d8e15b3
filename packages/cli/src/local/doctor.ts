// `skerry doctor`: does this machine have what a host needs? Each check looks for itself and says what to do about a fault.

import {
  CONNECTION_TABLE_FILE,
  connectionShare,
  GUEST_CONNECTIONS_MAX,
} from "@skerry/contract/hosts/connection-share";
import { memoryForVmsMib } from "@skerry/contract/hosts/memory-for-vms";
import { cpus, freemem, totalmem } from "node:os";
import { access, constants, open, readFile, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { VmList } from "@skerry/contract/host-api/vm";
import { environment } from "../config.ts";
import { CliError } from "../errors.ts";
import { choosePostgres, clusterMajor, installedMajors } from "./servers/choose-postgres.ts";
import { closedChains } from "./check-firewall.ts";
import { fileExists, nearestFolder } from "./system/files.ts";
import { askHost } from "./ask-host.ts";
import type { Layout } from "./system/layout.ts";
import { run } from "./system/run.ts";

export type Verdict = "ok" | "warning" | "fault";

export interface Finding {
  readonly check: string;
  readonly verdict: Verdict;
  readonly found: string;
  /** What to do; empty where all is well. */
  readonly remedy: string;
}

type Outcome = Omit<Finding, "check">;

const MEMORY_MIN_MIB = 2_048;
const DISK_MIN_GIB = 6;
const NODE_MIN_MAJOR = 24;
const PROBE_DEADLINE_MS = 10_000;
const GIB = 1024 ** 3;

const ok = (found: string): Outcome => ({ verdict: "ok", found, remedy: "" });
const warning = (found: string, remedy: string): Outcome => ({ verdict: "warning", found, remedy });
const fault = (found: string, remedy: string): Outcome => ({ verdict: "fault", found, remedy });

export async function doctor(layout: Layout): Promise<Finding[]> {
  const checks: readonly (readonly [string, () => Promise<Outcome>])[] = [
    ["root", checkRoot],
    ["system", checkSystem],
    ["node", checkNode],
    ["qemu", () => checkProgram("qemu-system-x86_64", ["--version"], "qemu-system-x86")],
    ["qemu-img", () => checkProgram("qemu-img", ["--version"], "qemu-utils")],
    ["mmdebstrap", () => checkProgram("mmdebstrap", ["--version"], "mmdebstrap")],
    ["mke2fs", () => checkProgram("mke2fs", ["-V"], "e2fsprogs")],
    ["gcc", () => checkProgram("gcc", ["--version"], "gcc")],
    ["musl-gcc", () => checkProgram("musl-gcc", ["--version"], "musl-tools")],
    ["postgresql", () => checkPostgres(layout)],
    ["kvm", () => checkKvm(layout)],
    ["tun", checkTun],
    ["namespaces", checkNamespaces],
    ["nftables", checkNftables],
    ["firewall", checkFirewall],
    ["connections", checkConnections],
    ["cgroups", checkCgroups],
    ["cpus", checkCpus],
    ["memory", checkMemory],
    ["disk", () => checkDisk(layout)],
    ["state folder", () => checkStateFolder(layout)],
    ["disks of machines", () => checkMachineDisks(layout)],
    ["build", () => checkBuild(layout)],
  ];
  const findings: Finding[] = [];
  for (const [check, look] of checks) {
    // One after the other: a check that starts a guest must not slow the next one down.
    const outcome = await look().catch((error: unknown) =>
      fault(String(error), "This check itself failed; please report it."),
    );
    findings.push({ check, ...outcome });
  }
  return findings;
}

async function checkRoot(): Promise<Outcome> {
  return process.getuid?.() === 0
    ? ok("yes")
    : fault("no", "Run skerry as root or with sudo: TAP devices and namespaces need it.");
}

async function checkSystem(): Promise<Outcome> {
  const release = await readFile("/etc/os-release", "utf8").catch(() => "");
  const name = /^PRETTY_NAME="?([^"\n]*)/m.exec(release)?.[1] ?? "unknown";
  if (process.arch !== "x64") return fault(`${name}, ${process.arch}`, "Hosts are x86_64 for now.");
  if (!/^ID(_LIKE)?=.*(debian|ubuntu)/m.test(release))
    return warning(
      name,
      "Skerry is tested on Debian 12 and newer; install its system packages by hand (setup/packages.sh).",
    );
  return ok(name);
}

async function checkNode(): Promise<Outcome> {
  const major = Number(process.versions.node.split(".")[0]);
  return major >= NODE_MIN_MAJOR
    ? ok(process.versions.node)
    : fault(process.versions.node, "Run npm run quickstart; it brings Node 24.");
}

async function checkProgram(
  program: string,
  args: readonly string[],
  debianPackage: string,
): Promise<Outcome> {
  const result = await run(program, args, { deadlineMs: PROBE_DEADLINE_MS }).catch(() => undefined);
  if (result === undefined || result.code !== 0) return fault("missing", `apt-get install ${debianPackage}`);
  return ok((result.stdout || result.stderr).split("\n")[0]?.trim().slice(0, 60) ?? "");
}

async function checkPostgres(layout: Layout): Promise<Outcome> {
  if (layout.joined !== undefined) return ok(`not needed: ${layout.joined.control} has its own`);
  if (layout.externalDatabaseUrl !== undefined) return ok("SKERRY_DATABASE_URL names one");
  try {
    return ok(`PostgreSQL ${choosePostgres(await installedMajors(), await clusterMajor(layout))}`);
  } catch (error) {
    if (error instanceof CliError) return fault(error.message, error.remediation ?? "");
    throw error;
  }
}

/** The host's own verdict from booting a real guest, where it has made one; the device alone proves nothing. */
async function checkKvm(layout: Layout): Promise<Outcome> {
  const flags = /^flags\s*:(.*)$/m.exec(await readFile("/proc/cpuinfo", "utf8"))?.[1] ?? "";
  const advice = /\b(vmx|svm)\b/.test(flags)
    ? "Load kvm_intel or kvm_amd, and check that nothing else holds the CPU's virtualization."
    : "Use a machine with hardware virtualization (or nested virtualization); emulation is slow and no security boundary.";
  if (!(await fileExists("/dev/kvm"))) return warning("no /dev/kvm: guests are emulated", advice);
  const kept = await readFile(join(layout.hostAssets, "accelerator.json"), "utf8").then(
    (text) => JSON.parse(text) as { verdict: { accelerator: string; reason: string } },
    () => undefined,
  );
  if (kept === undefined)
    return warning("/dev/kvm is there, not tried yet", "Run skerry up: it boots a guest on it and decides.");
  return kept.verdict.accelerator === "kvm" ? ok(kept.verdict.reason) : warning(kept.verdict.reason, advice);
}

async function checkTun(): Promise<Outcome> {
  const device = await open("/dev/net/tun", "r+").catch(
    (error: NodeJS.ErrnoException) => error.code ?? "failed",
  );
  if (typeof device === "string")
    return fault(`/dev/net/tun: ${device}`, "modprobe tun; in a container, pass the device /dev/net/tun in.");
  await device.close();
  return ok("/dev/net/tun opens");
}

/** Makes a namespace with a TAP, as every VM gets one, and removes it. */
async function checkNamespaces(): Promise<Outcome> {
  const name = `skerry-doctor-${process.pid}`;
  const made = await run("ip", ["netns", "add", name]).catch(() => undefined);
  if (made === undefined) return fault("the ip program is missing", "apt-get install iproute2");
  if (made.code !== 0)
    return fault(
      made.stderr.trim(),
      "The kernel or a container forbids network namespaces; a host needs them.",
    );
  try {
    const tap = await run("ip", ["-n", name, "tuntap", "add", "tap0", "mode", "tap"]);
    return tap.code === 0
      ? ok("a namespace with a TAP can be made")
      : fault(tap.stderr.trim(), "Load the module tun; in a container, allow mounts and TAP devices.");
  } finally {
    await run("ip", ["netns", "del", name]);
  }
}

async function checkNftables(): Promise<Outcome> {
  const result = await run("nft", ["list", "tables"]).catch(() => undefined);
  if (result === undefined) return fault("missing", "apt-get install nftables");
  return result.code === 0 ? ok("nft answers") : fault(result.stderr.trim(), "modprobe nf_tables");
}

async function checkFirewall(): Promise<Outcome> {
  const { chains, commands } = await closedChains();
  if (chains.length === 0) return ok("no other firewall stops VMs");
  const remedy = `Run, and put into that firewall's configuration: ${commands.join("; ")}`;
  return fault(`VMs have no network: ${chains.join(", ")} drops what it does not know`, remedy);
}

/** The kernel has this table once something has asked for it, which the host does. */
async function checkConnections(): Promise<Outcome> {
  const text = await readFile(CONNECTION_TABLE_FILE, "utf8").catch(() => undefined);
  if (text === undefined)
    return ok("the kernel has made no table of connections yet; the host looks when it starts");
  const configured = Number(environment()["SKERRY_VM_MEMORY_MIB"] || Number.NaN);
  return connectionsOutcome(
    Number(text),
    Number.isNaN(configured) ? memoryForVmsMib(totalmem()) : configured,
  );
}

/** What a table of this size means for the guests of a machine that has so much memory for them. */
export function connectionsOutcome(tableMax: number, vmMemoryMib: number): Outcome {
  const { guests, perGuest, needed } = connectionShare({ tableMax, vmMemoryMib });
  const found = `${tableMax === 0 ? "any number" : tableMax} (nf_conntrack_max); each of ${guests} guests may have ${perGuest}`;
  if (perGuest >= GUEST_CONNECTIONS_MAX) return ok(found);
  return warning(
    found,
    `For ${GUEST_CONNECTIONS_MAX} each: sysctl -w net.netfilter.nf_conntrack_max=${needed} (and in /etc/sysctl.d), then restart the host.`,
  );
}

async function checkCgroups(): Promise<Outcome> {
  const mounts = await readFile("/proc/self/mounts", "utf8");
  const tree = mounts
    .split("\n")
    .find((line) => line.split(" ")[2] === "cgroup2")
    ?.split(" ")[1];
  const advice =
    "Boot with systemd.unified_cgroup_hierarchy=1. Until then a VM can take more CPU than its size.";
  if (tree === undefined) return warning("no cgroup v2 tree", advice);
  const controllers = (await readFile(join(tree, "cgroup.controllers"), "utf8")).trim().split(" ");
  const missing = ["cpu", "memory", "pids"].filter((name) => !controllers.includes(name));
  return missing.length === 0
    ? ok(`v2 at ${tree}`)
    : warning(`v2 at ${tree} without ${missing.join(", ")}: no limits`, advice);
}

async function checkCpus(): Promise<Outcome> {
  return ok(`${cpus().length} × ${cpus()[0]?.model ?? "?"}`);
}

async function checkMemory(): Promise<Outcome> {
  const mib = (bytes: number) => Math.floor(bytes / 1024 / 1024);
  const found = `${mib(totalmem())} MiB, ${mib(freemem())} MiB free`;
  return mib(totalmem()) >= MEMORY_MIN_MIB
    ? ok(found)
    : fault(found, `A host needs at least ${MEMORY_MIN_MIB} MiB.`);
}

async function checkDisk(layout: Layout): Promise<Outcome> {
  const { bavail, bsize } = await statfs(await nearestFolder(layout.state));
  const gib = (bavail * bsize) / GIB;
  const found = `${gib.toFixed(1)} GiB free for ${layout.state}`;
  return gib >= DISK_MIN_GIB
    ? ok(found)
    : fault(found, `Free ${DISK_MIN_GIB} GiB, or set SKERRY_STATE to a folder on a larger disk.`);
}

/** QEMU runs under users of its own and reaches its files through this folder. */
async function checkStateFolder(layout: Layout): Promise<Outcome> {
  for (let folder = await nearestFolder(layout.state); ; folder = dirname(folder)) {
    const { stdout } = await run("stat", ["-c", "%a", folder]);
    if ((Number.parseInt(stdout.trim(), 8) & 0o001) === 0) {
      return fault(
        `${folder} is closed to other users`,
        `chmod o+x ${folder}, or set SKERRY_STATE to another place.`,
      );
    }
    if (folder === "/") return ok(layout.state);
  }
}

/** Asked of the host, which alone knows what it understands. */
async function checkMachineDisks(layout: Layout): Promise<Outcome> {
  const list = await askHost<VmList>(layout, "/vms");
  if (typeof list === "string") return ok("the host does not run: not looked at");
  const left = list.items.filter(({ cause }) => cause === "disk_unreadable" || cause === "not_adopted");
  if (left.length === 0) return ok(`${list.items.length} VMs, all understood`);
  return fault(
    left.map(({ id, reason }) => `${id}: ${reason ?? "unknown"}`).join("; "),
    `Their files are in ${join(layout.hostState, "vms")}. \`skerry host recover-disk ID\` writes a damaged record anew; what a newer version wrote needs that version.`,
  );
}

async function checkBuild(layout: Layout): Promise<Outcome> {
  const files = [
    "control.js",
    "host.js",
    "native/agent",
    "native/launch",
    "native/spawn-helper",
    "native/private-memory.so",
  ];
  for (const file of files) {
    if (!(await fileExists(join(layout.dist, file))))
      return fault(`${file} is missing`, "Run npm run quickstart; it builds.");
  }
  const launch = await access(join(layout.dist, "native/launch"), constants.X_OK).then(
    () => true,
    () => false,
  );
  return launch
    ? ok(layout.dist)
    : fault("native/launch cannot be run", "The checkout is on a file system mounted noexec; move it.");
}

/** Exit code of the command: faults fail it, warnings do not. */
export function exitCodeOf(findings: readonly Finding[]): number {
  return findings.some((finding) => finding.verdict === "fault") ? 1 : 0;
}
