// What a reader of a report needs to know of a machine, and nothing that tells which machine it is: no name, no address, no serial number.

import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { release, totalmem } from "node:os";
import { run } from "../system/run.ts";
import type { SystemFiles } from "./system-files.ts";

export async function machineFacts(files: SystemFiles): Promise<Record<string, string>> {
  const facts: Record<string, string | undefined> = {
    ...(await fileFacts(files)),
    kernel: release(),
    memory: `${Math.round(totalmem() / 1024 ** 2)} MiB`,
    node: process.versions.node,
    QEMU: await firstLineOf("qemu-system-x86_64", "--version"),
    virtualization: await firstLineOf("systemd-detect-virt"),
    "/dev/kvm": await deviceFact("/dev/kvm"),
  };
  return Object.fromEntries(
    Object.entries(facts).filter((fact): fact is [string, string] => fact[1] !== undefined),
  );
}

/** What is in files. */
export async function fileFacts(files: SystemFiles): Promise<Record<string, string | undefined>> {
  const cpuinfo = (await files.read("/proc/cpuinfo")) ?? "";
  const field = (name: string): string | undefined =>
    new RegExp(`^${name}\\s*:\\s*(.*)$`, "m").exec(cpuinfo)?.[1]?.trim();
  const bootId = await files.read("/proc/sys/kernel/random/boot_id");
  const clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  return {
    system: /^PRETTY_NAME="?([^"\n]*)/m.exec((await files.read("/etc/os-release")) ?? "")?.[1],
    CPU: `${[...cpuinfo.matchAll(/^processor\s*:/gm)].length} × ${field("model name") ?? "?"}`,
    microcode: field("microcode"),
    "CPU flags": field("flags"),
    "clock source": await files.read(clock),
    "huge pages": await files.read("/sys/kernel/mm/transparent_hugepage/enabled"),
    KSM: await files.read("/sys/kernel/mm/ksm/run"),
    SMT: await files.read("/sys/devices/system/cpu/smt/control"),
    "KVM modules": await kvmModules(files),
    // Tells two boots apart, and not one machine from another.
    boot: bootId === undefined ? undefined : createHash("sha256").update(bootId).digest("hex").slice(0, 12),
  };
}

/** With the parameters that decide about guests: `kvm, kvm_intel (ept=Y nested=Y)`. */
async function kvmModules(files: SystemFiles): Promise<string> {
  const names = (await files.list("/sys/module")).filter((name) => /^kvm(_|$)/.test(name)).toSorted();
  const described = names.map(async (name) => {
    const folder = `/sys/module/${name}/parameters`;
    const values = (await files.list(folder)).toSorted().map(async (parameter) => {
      const value = await files.read(`${folder}/${parameter}`);
      return value === undefined ? [] : [`${parameter}=${value}`];
    });
    const parameters = (await Promise.all(values)).flat();
    return parameters.length === 0 ? name : `${name} (${parameters.join(" ")})`;
  });
  return (await Promise.all(described)).join(", ") || "none";
}

async function firstLineOf(program: string, ...args: readonly string[]): Promise<string | undefined> {
  // `systemd-detect-virt` fails where it finds none, and says so.
  const result = await run(program, args, { deadlineMs: 10_000 }).catch(() => undefined);
  return result?.stdout.split("\n")[0]?.trim();
}

async function deviceFact(device: string): Promise<string> {
  const found = await stat(device).catch(() => undefined);
  if (found === undefined) return "missing";
  return `mode ${(found.mode & 0o7777).toString(8)}, uid ${found.uid}, gid ${found.gid}`;
}
