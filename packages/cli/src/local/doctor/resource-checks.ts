// Whether the machine is large enough, and whether its folders can be used.

import { cpus, freemem, totalmem } from "node:os";
import { statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { VmList } from "@skerry/contract/host-api/vm";
import { askHost } from "../system/ask-host.ts";
import { nearestFolder } from "../system/files.ts";
import type { Layout } from "../system/layout.ts";
import { run } from "../system/run.ts";
import type { Check } from "./check.ts";
import { fault, ok, type Outcome } from "./outcome.ts";
import { counted } from "../../output/counted.ts";

const MEMORY_MIN_MIB = 2_048;
const DISK_MIN_GIB = 6;
const GIB = 1024 ** 3;

export function resourceChecks(layout: Layout): readonly Check[] {
  const always = (name: string, look: () => Promise<Outcome>): Check => ({ name, shown: "always", look });
  return [
    always("cpus", checkCpus),
    always("memory", checkMemory),
    always("disk", () => checkDisk(layout)),
    always("state folder", () => checkStateFolder(layout)),
    always("disks of machines", () => checkMachineDisks(layout)),
  ];
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
  if (list === "denied") return ok("only root may ask the host: not looked at");
  if (list === "silent") return ok("the host does not run: not looked at");
  const left = list.items.filter(({ cause }) => cause === "disk_unreadable" || cause === "not_adopted");
  if (left.length === 0) return ok(`${counted(list.items.length, "VM")}, all understood`);
  return fault(
    left.map(({ id, reason }) => `${id}: ${reason ?? "unknown"}`).join("; "),
    `Their files are in ${join(layout.hostState, "vms")}. \`skerry host recover-disk ID\` writes a damaged record anew; what a newer version wrote needs that version.`,
  );
}
