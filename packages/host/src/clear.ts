// Ends every VM of a host that does not run, from its records and from the kernel's. Needs neither a guest kernel nor KVM nor a
// template: what is left of a VM must go also where none could run any more. Machines are stopped in peace where they answer, and keep
// their disks; by their policy they are started again with the host.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import type { HostConfig } from "./config.ts";
import { openHostNetwork, removeHostNetwork } from "./network/host-network.ts";
import { Slots } from "./network/slots.ts";
import { openCgroups } from "./vm/cgroup.ts";
import { adoptClone, mainOf } from "./vm/clone.ts";
import { endOfHost } from "./vm/ending.ts";
import { cgroupName, giveBack, uidsOf, type MachineRoom } from "./vm/instance.ts";
import { diskPlaces } from "./vm/disk-below.ts";
import { findByUid, killProcess } from "./vm/process.ts";
import { vmPaths } from "./vm/qemu.ts";
import {
  hasEnded,
  isWithout,
  keepsDisk,
  readRecords,
  saveRecord,
  type FoundFolder,
  type VmRecord,
} from "./vm/record.ts";
import { stopGuest } from "./vm/stopping.ts";
import { isMachineId, isVmId } from "./vm/unreadable.ts";
import { WARM_PREFIX } from "./vm/warm-clones.ts";

type ClearRoom = Pick<MachineRoom, "slots" | "cgroups" | "firstVmUid">;

/** Between SIGTERM and SIGKILL to main processes. */
const GRACE_MS = 10_000;
/** A machine that does not answer by then is not stopped in peace. */
const CONNECT_DEADLINE_MS = 10_000;

/** Goes on past a VM that cannot be cleaned up, and reports it at the end. Resolves with the ids of machines whose record is not understood: their
 *  files are left as they are. */
export async function clearVms(config: HostConfig, log: Logger): Promise<readonly string[]> {
  const { stateFolder, instance, firstVmUid, network } = config;
  // First: where it is not to be done, nothing is.
  const found = await readRecords(join(stateFolder, "vms"), { instance, places: diskPlaces(config) });
  const range = await openHostNetwork({ ...network, log });
  const [forget, enter] = [join(config.nativeFolder, "forget"), join(config.nativeFolder, "enter")];
  const { linkPrefix } = network;
  const slots = new Slots({ prefix: instance, linkPrefix, range, ready: 0, forget, enter, log });
  const room = { slots, cgroups: await openCgroups(instance), firstVmUid };
  const failures: unknown[] = [];
  const left: string[] = [];
  // All at once: each may take its main process' grace.
  await Promise.all(
    found.map((one) =>
      clearVm({ room, log, left }, one).catch((error: unknown) => void failures.push(error)),
    ),
  );
  // Every process of these users is ours, under any name.
  for (const { identity, name } of await findByUid(uidsOf(room))) {
    await killProcess(identity);
    if (name !== undefined) await room.cgroups.remove(cgroupName({ name }));
  }
  await slots.sweep();
  await removeHostNetwork(network);
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} VMs could not be cleaned up`);
  return left;
}

interface ClearOptions {
  readonly room: ClearRoom;
  readonly log: Logger;
  readonly left: string[];
}

async function clearVm({ room, log, left }: ClearOptions, { id, folder, found }: FoundFolder): Promise<void> {
  if (found.kind !== "mine") {
    // What runs is found by its user. The files of a sandbox are of no use without it; those of a machine are its disk.
    if (!isMachineId(id)) return isVmId(id) || id.startsWith(WARM_PREFIX) ? remove(folder) : undefined;
    if (found.kind === "absent" && (await isWithout(join(folder, vmPaths.disk)))) return remove(folder);
    left.push(id);
    log.error(
      { vm: id, folder },
      "the record of a machine is not understood; its files are left as they are",
    );
    return;
  }
  const { record } = found;
  if (!keepsDisk(record)) return giveBack(room, record);
  if (hasEnded(record)) return;
  // One that has arrived and has not been decided about may run elsewhere, and must not run here. One that cannot be stopped has the disk
  // that it has after a power failure.
  if (record.arrival === undefined) await stopMachine(record).catch(() => undefined);
  const ended = { ...record, ...endOfHost("its host was taken down"), process: undefined };
  await giveBack(room, record, { disk: true, save: () => saveRecord(ended) });
}

function remove(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true });
}

async function stopMachine(record: VmRecord): Promise<void> {
  if (record.process === undefined) return;
  const signal = AbortSignal.timeout(CONNECT_DEADLINE_MS);
  const live = await adoptClone(record, { deadlineMs: CONNECT_DEADLINE_MS, signal });
  try {
    const main = await mainOf(record, live);
    await stopGuest({ channel: live.channel, main, rest: undefined }, GRACE_MS);
  } finally {
    live.qmp.close();
    live.channel.close("its host is taken down");
  }
}
