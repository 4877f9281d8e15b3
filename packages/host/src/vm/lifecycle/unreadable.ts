// VMs whose record this host does not understand. A disk is worth more than its record: the files in such a
// folder stay until control destroys the VM, or an operator recovers it. No resource of such a VM is released
// by guess.

import { stat } from "node:fs/promises";
import { SkerryError } from "@skerry/contract/errors";
import type { VmCause } from "@skerry/contract/vms/vm-causes";
import { NO_EGRESS } from "../../network/egress-loader.ts";
import { cgroupName, uidsOf, type HostResources } from "../record/vm-resources.ts";
import { findByUid, killProcess, worksIn, type FoundProcess } from "../qemu/process.ts";
import { UNKNOWN, type VmRecord } from "../record/record.ts";
import { type FoundFolder, type FoundRecord, type RecordOwner } from "../record/read-records.ts";

/** What the host knows of it: its id, and the reason why no more is known. The other fields are filled in
 *  so that it can be listed, stopped and destroyed. */
export async function unreadableRecord(
  { id, folder, found }: FoundFolder,
  { instance }: Pick<RecordOwner, "instance">,
): Promise<VmRecord> {
  const { mtime } = await stat(folder).catch(() => ({ mtime: new Date() }));
  return {
    id,
    ...{ execution_id: UNKNOWN, template: UNKNOWN, size: UNKNOWN },
    status: "gone",
    ...{ reason: reasonOf(found), cause: causeOf(found) },
    started_at: mtime.toISOString(),
    name: `${instance}:${id}:${UNKNOWN}`,
    folder,
    ...{ slot: 0, process: undefined, egress: NO_EGRESS, egress_version: 1 },
    ...(isMachineId(id) ? { machine: { command: null, keeps_disk: true, stopping: false } } : {}),
  };
}

/** Whether a later host process may understand the record: this version when the disk can be read, or the
 *  newer version that wrote it. Then its QEMU also stays, for that host process to find. */
export function isKeptAsItIs({ kind }: FoundRecord): boolean {
  return kind === "unreadable" || kind === "newer";
}

export function diskUnreadable({ id, reason, cause }: VmRecord): SkerryError {
  return new SkerryError("disk_unreadable", `The host cannot use the machine's disk: ${reason}.`, {
    // A new disk would give up one that is sound.
    remediation:
      cause === "not_adopted"
        ? "The disk is kept. The operator can restart the host when the record can be read, or with the version that wrote it."
        : `The operator can recover it (skerry host recover-disk ${id}), or start the machine with a new disk.`,
    context: { vm_id: id },
  });
}

export function diskGone(): SkerryError {
  return new SkerryError("disk_gone", "The host does not have the machine's disk any more.", {
    remediation: "Restore its folder from a backup, or start the machine with a new disk.",
  });
}

export type UnreadableResources = Pick<HostResources, "slots" | "cgroups" | "firstVmUid">;

/** Ends the processes of such a VM, and releases their cgroups and slots. */
export async function endUnreadable(
  resources: UnreadableResources,
  { id, name, folder }: VmRecord,
): Promise<void> {
  const instance = name.slice(0, name.indexOf(":"));
  for (const found of await findByUid(uidsOf(resources))) {
    if (!(await isQemuOf(found, { id, folder }, instance))) continue;
    await killProcess(found.identity);
    if (found.name !== undefined) await resources.cgroups.remove(cgroupName({ name: found.name }));
    await resources.slots.close(resources.slots.slot(found.uid - resources.firstVmUid));
  }
}

/** Whether the process is the QEMU of this VM, whose record is not understood. A QEMU from the warm pool keeps
 *  the name of its clone, so its working directory, the VM's folder, counts too. */
export async function isQemuOf(
  { identity, name }: FoundProcess,
  { id, folder }: Pick<FoundFolder, "id" | "folder">,
  instance: string,
): Promise<boolean> {
  return name?.startsWith(`${instance}:${id}:`) === true || worksIn(identity, folder);
}

const VM_ID = /^(sbx|mch|bld)_[a-z0-9]{1,40}$/;

/** Whether the name of a folder is the id of a VM. */
export function isVmId(name: string): boolean {
  return VM_ID.test(name);
}

export function isMachineId(id: string): boolean {
  return id.startsWith("mch_");
}

function causeOf(found: FoundRecord): VmCause {
  return isKeptAsItIs(found) ? "not_adopted" : "disk_unreadable";
}

function reasonOf(found: FoundRecord): string {
  switch (found.kind) {
    case "absent":
      return "its record vm.json is not there";
    case "unreadable":
    case "newer":
    case "damaged":
      return found.why;
    case "mine":
      return "it is understood";
  }
}
