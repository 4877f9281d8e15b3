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
import { findByName, killProcess } from "./vm/process.ts";
import {
  hasEnded,
  keepsDisk,
  readRecords,
  saveRecord,
  type FoundFolder,
  type VmRecord,
} from "./vm/record.ts";
import { stopGuest } from "./vm/stopping.ts";

type ClearRoom = Pick<MachineRoom, "slots" | "cgroups" | "firstVmUid">;

/** Between SIGTERM and SIGKILL to main processes. */
const GRACE_MS = 10_000;

/** Goes on past a VM that cannot be cleaned up, and reports it at the end. */
export async function clearVms(config: HostConfig, log: Logger): Promise<void> {
  const { stateFolder, instance, firstVmUid, network } = config;
  const range = await openHostNetwork({ ...network, log });
  const [forget, enter] = [join(config.nativeFolder, "forget"), join(config.nativeFolder, "enter")];
  const { linkPrefix } = network;
  const slots = new Slots({ prefix: instance, linkPrefix, range, ready: 0, forget, enter, log });
  const room = { slots, cgroups: await openCgroups(instance), firstVmUid };
  const failures: unknown[] = [];
  const found = await readRecords(join(stateFolder, "vms"));
  // All at once: each may take its main process' grace.
  await Promise.all(
    found.map((one) => clearVm(room, one).catch((error: unknown) => void failures.push(error))),
  );
  for (const { identity, name } of await findByName(`${instance}:`, uidsOf(room))) {
    await killProcess(identity);
    await room.cgroups.remove(cgroupName({ name }));
  }
  await slots.sweep();
  await removeHostNetwork(network);
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} VMs could not be cleaned up`);
}

async function clearVm(room: ClearRoom, { folder, record }: FoundFolder): Promise<void> {
  // A folder without a record belongs to a VM that was never started, or to one that is found by its name.
  if (record === undefined) return rm(folder, { recursive: true, force: true });
  if (!keepsDisk(record)) return giveBack(room, record);
  if (hasEnded(record)) return;
  // One that has arrived and has not been decided about may run elsewhere, and must not run here. One that cannot be stopped has the disk
  // that it has after a power failure.
  if (record.arrival === undefined) await stopMachine(record).catch(() => undefined);
  const ended = { ...record, ...endOfHost("its host was taken down"), process: undefined };
  await giveBack(room, record, { disk: true, save: () => saveRecord(ended) });
}

async function stopMachine(record: VmRecord): Promise<void> {
  if (record.process === undefined) return;
  const live = await adoptClone(record);
  try {
    const main = await mainOf(record, live);
    await stopGuest({ channel: live.channel, main, rest: undefined }, GRACE_MS);
  } finally {
    live.qmp.close();
    live.channel.close("its host is taken down");
  }
}
