// Destroys every VM of a host that does not run, from its records and from the kernel's. Needs neither a guest kernel nor KVM nor a
// template: what is left of a machine must go also where a VM could not run any more.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import type { HostConfig } from "./config.ts";
import { openHostNetwork, removeHostNetwork } from "./network/host-network.ts";
import { Slots } from "./network/slots.ts";
import { openCgroups } from "./vm/cgroup.ts";
import { cgroupName, giveBack, uidsOf } from "./vm/instance.ts";
import { findByName, killProcess } from "./vm/process.ts";
import { readRecords } from "./vm/record.ts";

/** Goes on past a VM that cannot be cleaned up, and reports it at the end. */
export async function clearVms(config: HostConfig, log: Logger): Promise<void> {
  const { stateFolder, instance, firstVmUid, network } = config;
  const range = await openHostNetwork({ ...network, log });
  const forget = join(config.nativeFolder, "forget");
  const slots = new Slots({ prefix: instance, linkPrefix: network.linkPrefix, range, ready: 0, forget });
  const room = { slots, cgroups: await openCgroups(instance), firstVmUid };
  const failures: unknown[] = [];
  for (const { folder, record } of await readRecords(join(stateFolder, "vms"))) {
    // A folder without a record belongs to a VM that was never started, or to one that is found by its name below.
    const removed =
      record === undefined ? rm(folder, { recursive: true, force: true }) : giveBack(room, record);
    await removed.catch((error: unknown) => failures.push(error));
  }
  for (const { identity, name } of await findByName(`${instance}:`, uidsOf(room))) {
    await killProcess(identity);
    await room.cgroups.remove(cgroupName({ name }));
  }
  await slots.sweep();
  await removeHostNetwork(network);
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} VMs could not be cleaned up`);
}
