// Steps that several ways to create a VM have in common.

import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import { isWithout, type VmRecord } from "../record/record.ts";
import { makeFolder, type HostResources } from "../record/vm-resources.ts";

/** Makes an empty folder for a VM that is new on this host. Refuses where it holds a machine's disk that
 *  no entry of the table names. */
export async function makeNewFolder({ folder, machine }: VmRecord): Promise<void> {
  if (machine !== undefined && !(await isWithout(join(folder, vmPaths.disk)))) {
    throw new SkerryError(
      "disk_unreadable",
      "There is a disk in the machine's folder that the host does not know.",
      {
        remediation: "Start the host again; it then says what it finds there.",
      },
    );
  }
  await makeFolder(folder);
}

export function loadPolicy(
  { slots, egress: rules }: HostResources,
  { slot, egress }: VmRecord,
): Promise<void> {
  return rules.load(slots.slot(slot), egress);
}
