// VMs whose record this host does not understand. A disk is worth more than the sentence that describes it: what lies in such a folder stays
// until control asks for its end, or an operator recovers it. Nothing of such a VM is given back by guess.

import { rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import type { Vm, VmCause } from "@skerry/contract/host-api";
import { NO_EGRESS } from "../network/egress.ts";
import { BELOW_FILE, readBelow } from "./disk-below.ts";
import { onlyMachines, type Entries } from "./entries.ts";
import { cgroupName, uidsOf, type MachineRoom } from "./instance.ts";
import { findByUid, killProcess } from "./process.ts";
import { vmPaths } from "./qemu.ts";
import {
  isWithout,
  readRecord,
  RECORD,
  saveRecord,
  shown,
  type FoundFolder,
  type FoundRecord,
  type RecordOwner,
  type VmRecord,
} from "./record.ts";

/** What the host can say of it: its id and why nothing more. The rest is filled in so that it can be listed, stopped and destroyed. */
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

/** Whether it may well be understood another time: by this version when the disk gives it, or by the version that wrote it. Then its QEMU runs
 *  on as well, for that host process to find. */
export function isKeptAsItIs({ kind }: FoundRecord): boolean {
  return kind === "unreadable" || kind === "newer";
}

export function diskUnreadable({ id, reason }: VmRecord): SkerryError {
  return new SkerryError("disk_unreadable", `The host cannot use the machine's disk: ${reason}.`, {
    remediation: `The operator can recover it (skerry host recover-disk ${id}), or start the machine with a new disk.`,
    context: { vm_id: id },
  });
}

export function diskGone(): SkerryError {
  return new SkerryError("disk_gone", "The host does not have the machine's disk any more.", {
    remediation: "Restore its folder from a backup, or start the machine with a new disk.",
  });
}

type EndRoom = Pick<MachineRoom, "slots" | "cgroups" | "firstVmUid">;

/** Gives back what the kernel has of such a VM. */
export async function endUnreadable(room: EndRoom, { id, name }: VmRecord): Promise<void> {
  const prefix = `${name.slice(0, name.indexOf(":"))}:${id}:`;
  for (const { identity, uid, name: found } of await findByUid(uidsOf(room))) {
    if (found?.startsWith(prefix) !== true) continue;
    await killProcess(identity);
    await room.cgroups.remove(cgroupName({ name: found }));
    await room.slots.close(room.slots.slot(uid - room.firstVmUid));
  }
}

interface RecoveryOptions {
  readonly room: EndRoom;
  readonly owner: RecordOwner;
}

/** Writes a new record for a machine whose record is not understood, so that its next start boots from its disk. The damaged record is kept
 *  beside it. A second time it does nothing. */
export async function recoverMachine(
  { room, owner }: RecoveryOptions,
  entries: Entries,
  id: string,
): Promise<Vm> {
  const entry = onlyMachines(entries.known(id), "it has nothing that could be recovered");
  if (entry.state !== "unreadable") return shown(entry.record);
  const { folder } = entry.record;
  const found = await readRecord(id, folder, owner);
  if (found.kind === "newer" || found.kind === "mine") {
    const why = found.kind === "newer" ? found.why : `${RECORD} can be read again`;
    throw new SkerryError("disk_unreadable", `${why}, and nothing is wrong with it.`, {
      remediation: `Start ${found.kind === "newer" ? "that version of " : ""}the host again.`,
    });
  }
  const below = await readBelow(folder, owner.places);
  if (below === undefined || (await isWithout(join(folder, vmPaths.disk)))) {
    throw new SkerryError("disk_unreadable", "The disk, or what it stands on, is not known.", {
      remediation: `Restore ${vmPaths.disk} and ${BELOW_FILE} in ${folder} from a backup, and try again.`,
    });
  }
  await endUnreadable(room, entry.record);
  await rename(join(folder, RECORD), join(folder, `${RECORD}.damaged`)).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    },
  );
  const record: VmRecord = {
    ...entry.record,
    reason: "its record was recovered",
    cause: "host_failed",
    below,
  };
  // Destroyed meanwhile, or started with a new disk.
  if (!entries.holds(entry)) return shown(entries.known(id).record);
  await saveRecord(record);
  entries.set({ state: "ended", record });
  return shown(record);
}

const UNKNOWN = "unknown";

const VM_ID = /^(sbx|mch)_[a-z0-9]{1,40}$/;

/** Whether a folder of this name is that of a VM that control knows by it. */
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
