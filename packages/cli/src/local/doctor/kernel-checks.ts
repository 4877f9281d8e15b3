// What a host needs of the kernel: devices, namespaces, packet filter, limits.

import {
  CONNECTION_TABLE_FILE,
  connectionShare,
  GUEST_CONNECTIONS_MAX,
} from "@skerry/contract/hosts/connection-share";
import { memoryForVmsMib } from "@skerry/contract/hosts/memory-for-vms";
import { open, readFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import { environment } from "../../config.ts";
import { fileExists } from "../system/files.ts";
import type { Layout } from "../system/layout.ts";
import { run } from "../system/run.ts";
import { limitsOutcome, tryOwnLimits } from "./cgroup-limits.ts";
import type { Check } from "./check.ts";
import { closedChains } from "./closed-chains.ts";
import { fault, ok, warning, type Outcome } from "./outcome.ts";

export function kernelChecks(layout: Layout): readonly Check[] {
  const always = (name: string, look: () => Promise<Outcome>): Check => ({ name, shown: "always", look });
  return [
    always("kvm", () => checkKvm(layout)),
    always("tun", checkTun),
    always("namespaces", checkNamespaces),
    always("nftables", checkNftables),
    always("firewall", checkFirewall),
    always("connections", checkConnections),
    always("cgroups", async () => limitsOutcome(await tryOwnLimits())),
  ];
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
