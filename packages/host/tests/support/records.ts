import type { ChildProcess } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ProcessIdentity } from "../../src/vm/qemu/process.ts";
import { backingPlaces } from "../../src/vm/disk/backing-files.ts";
import { saveRecord, type VmRecord } from "../../src/vm/record/record.ts";
import { readRecords, type RecordOwner } from "../../src/vm/record/read-records.ts";

/** What the processes of the records below are named after. */
export const INSTANCE = "skerry-1a2b3c";

/** The host whose VMs are in this folder. */
export function ownerOf(vmsFolder: string): RecordOwner {
  const stateFolder = dirname(vmsFolder);
  return {
    instance: INSTANCE,
    places: backingPlaces({ stateFolder, assetsFolder: join(stateFolder, "assets") }),
  };
}

/** Every folder with its record, where that is understood. */
export async function recordsIn(
  vmsFolder: string,
): Promise<{ id: string; folder: string; record: VmRecord | undefined }[]> {
  return (await readRecords(vmsFolder, ownerOf(vmsFolder))).map(({ id, folder, found }) => ({
    ...{ id, folder },
    record: found.kind === "mine" ? found.record : undefined,
  }));
}

/** Of a VM that runs, or ran: its process has ended. */
export function recordIn(vmsFolder: string, id: string, changes: Partial<VmRecord> = {}): VmRecord {
  return {
    id,
    execution_id: "exe_1",
    template: "base",
    size: "shared-cpu-1x",
    status: "running",
    reason: null,
    started_at: "2026-11-20T16:21:09.123Z",
    name: `${INSTANCE}:${id}:exe_1`,
    folder: join(vmsFolder, id),
    slot: 3,
    process: { pid: process.pid, startTicks: 0 },
    egress: {
      mode: "deny_all",
      allow_cidrs: ["203.0.113.0/24"],
      deny_cidrs: [],
      allow_ports: [443],
      dns: false,
    },
    egress_version: 2,
    ...changes,
  };
}

/** As a host process that was killed has left it. */
export async function leave(record: VmRecord): Promise<VmRecord> {
  await mkdir(record.folder, { recursive: true });
  await saveRecord(record);
  return record;
}

/** Of a process that stands for a QEMU. */
export async function identityOf({ pid = 0 }: ChildProcess): Promise<ProcessIdentity> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  return { pid, startTicks: Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]) };
}
