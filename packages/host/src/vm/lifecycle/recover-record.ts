// Puts a machine whose record was damaged back in order.

import { rename } from "node:fs/promises";
import { join } from "node:path";
import { SkerryError } from "@skerry/contract/errors";
import { BELOW_FILE, readBackingFiles } from "../disk/backing-files.ts";
import { vmPaths } from "../qemu/qemu-arguments.ts";
import { isWithout, RECORD, saveRecord, type VmRecord } from "../record/record.ts";
import { readRecord, type RecordOwner } from "../record/read-records.ts";
import { endUnreadable, type UnreadableResources } from "./unreadable.ts";

interface RecoveryOptions {
  readonly resources: UnreadableResources;
  readonly owner: RecordOwner;
}

/** Writes a new record for a machine whose record is not understood, so that its next start boots from its
 *  disk, and resolves with it. The damaged record is kept beside it. */
export async function recoverRecord(
  { resources, owner }: RecoveryOptions,
  known: VmRecord,
): Promise<VmRecord> {
  const { id, folder } = known;
  const found = await readRecord(id, folder, owner);
  if (found.kind === "newer" || found.kind === "mine") {
    const why = found.kind === "newer" ? found.why : `${RECORD} can be read again`;
    throw new SkerryError("disk_unreadable", `${why}, and nothing is wrong with it.`, {
      remediation: `Start ${found.kind === "newer" ? "that version of " : ""}the host again.`,
    });
  }
  const below = await readBackingFiles(folder, owner.places);
  if (below === undefined || (await isWithout(join(folder, vmPaths.disk)))) {
    throw new SkerryError("disk_unreadable", "The disk, or what it stands on, is not known.", {
      remediation: `Restore ${vmPaths.disk} and ${BELOW_FILE} in ${folder} from a backup, and try again.`,
    });
  }
  await endUnreadable(resources, known);
  await rename(join(folder, RECORD), join(folder, `${RECORD}.damaged`)).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    },
  );
  const record: VmRecord = { ...known, reason: "its record was recovered", cause: "host_failed", below };
  await saveRecord(record);
  return record;
}
