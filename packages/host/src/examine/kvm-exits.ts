// How often guests leave to the kernel: each exit costs, and an idle guest should have few.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const KVM_FOLDER = "/sys/kernel/debug/kvm";

/** Exits so far of the guest that this QEMU runs; undefined where the kernel's debug file system does not tell. */
export async function kvmExits(pid: number, folder = KVM_FOLDER): Promise<number | undefined> {
  const names = await readdir(folder).catch(() => [] as string[]);
  const guest = names.find((name) => name.startsWith(`${pid}-`));
  if (guest === undefined) return undefined;
  const text = await readFile(join(folder, guest, "exits"), "utf8").catch(() => "");
  if (text !== "") return Number(text);
  // Newer kernels count for each CPU of the guest.
  const parts = await readdir(join(folder, guest)).catch(() => [] as string[]);
  const counts = await Promise.all(
    parts
      .filter((part) => part.startsWith("vcpu"))
      .map((part) => readFile(join(folder, guest, part, "exits"), "utf8").catch(() => "")),
  );
  const known = counts.filter((count) => count !== "");
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + Number(count), 0);
}
