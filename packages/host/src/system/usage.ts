// CPU, memory, disk and network use of this machine, as the kernel counts it. Pure functions parse the texts
// of /proc.

import { readFile, statfs } from "node:fs/promises";
import type { HostUsage } from "@skerry/contract/host-api/host-info";

type MachineUsage = Omit<HostUsage, "warm_pool">;

/** `folder`: where the VMs are kept. */
export async function measureUsage(folder: string): Promise<MachineUsage> {
  const [stat, meminfo, devices, routes, routes6, disk] = await Promise.all([
    readFile("/proc/stat", "utf8"),
    readFile("/proc/meminfo", "utf8"),
    readFile("/proc/net/dev", "utf8"),
    readFile("/proc/net/route", "utf8").catch(() => ""),
    // The file is missing where the kernel has no IPv6.
    readFile("/proc/net/ipv6_route", "utf8").catch(() => ""),
    statfs(folder),
  ]);
  return {
    cpu_seconds: cpuSecondsOf(stat),
    ...memoryOf(meminfo),
    disk_bytes: disk.blocks * disk.bsize,
    disk_free_bytes: disk.bavail * disk.bsize,
    ...trafficOf(devices, defaultLinksOf(routes, routes6)),
  };
}

/** Linux reports hundredths of a second to programs, also where it counts more finely. */
const TICKS_PER_S = 100;

export function cpuSecondsOf(stat: string): HostUsage["cpu_seconds"] {
  const [, ...ticks] = (stat.split("\n", 1)[0] ?? "").split(/\s+/).map(Number);
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = ticks;
  return {
    user: (user + nice) / TICKS_PER_S,
    system: (system + irq + softirq) / TICKS_PER_S,
    idle: idle / TICKS_PER_S,
    iowait: iowait / TICKS_PER_S,
    steal: steal / TICKS_PER_S,
  };
}

export function memoryOf(meminfo: string): Pick<HostUsage, "memory_bytes" | "memory_available_bytes"> {
  const bytes = (name: string) =>
    Number(new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(meminfo)?.[1] ?? 0) * 1024;
  return { memory_bytes: bytes("MemTotal"), memory_available_bytes: bytes("MemAvailable") };
}

/** The links of the default routes. Traffic between the machine and its VMs that leaves the machine passes
 *  them too. */
export function defaultLinksOf(routes: string, routes6: string): ReadonlySet<string> {
  const links = [
    ...rows(routes).map(([link, destination, , , , , , mask]) => ({
      link,
      isDefault: destination === "00000000" && mask === "00000000",
    })),
    ...rows(routes6).map((columns) => ({
      link: columns[9],
      isDefault: /^0+$/.test(columns[0] ?? "") && columns[1] === "00",
    })),
  ];
  // The kernel keeps a refusing default route of IPv6 on `lo`.
  return new Set(
    links.flatMap(({ link, isDefault }) => (isDefault && link !== undefined && link !== "lo" ? [link] : [])),
  );
}

export function trafficOf(
  devices: string,
  links: ReadonlySet<string>,
): Pick<HostUsage, "network_received_bytes" | "network_sent_bytes"> {
  const counted = rows(devices.replaceAll(":", ": ")).filter(([name = ""]) => links.has(name.slice(0, -1)));
  const sum = (column: number) => counted.reduce((total, row) => total + Number(row[column]), 0);
  return { network_received_bytes: sum(1), network_sent_bytes: sum(9) };
}

function rows(text: string): string[][] {
  return text.split("\n").map((line) => line.trim().split(/\s+/));
}
