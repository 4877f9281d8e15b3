// Ends all VMs of a host whose process does not run, from their records and from the kernel. Needs no guest
// kernel, KVM or template, so that it works also where no VM could run any more. Machines that answer are
// stopped with a grace period, and keep their disks; their restart policy starts them again with the host. A
// sandbox that is paused is files alone, and stays as it is.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import type { HostConfig } from "../config/config.ts";
import { openHostNetwork, removeHostNetwork } from "../network/host-network.ts";
import { Slots } from "../network/slots.ts";
import { endNameProxy, rootNameProxy } from "./open-name-proxy.ts";
import { endEdge } from "./open-edge.ts";
import { openCgroups } from "../vm/qemu/cgroup.ts";
import { adoptClone, mainOf } from "../vm/start/clone.ts";
import { endOfHost } from "../vm/lifecycle/end-reason.ts";
import { forgetOthers } from "../vm/record/secrets-in-memory.ts";
import { cgroupName, releaseResources, uidsOf, type HostResources } from "../vm/record/vm-resources.ts";
import { backingPlaces } from "../vm/disk/backing-files.ts";
import { findByUid, killProcess } from "../vm/qemu/process.ts";
import { vmPaths } from "../vm/qemu/qemu-arguments.ts";
import {
  hasEnded,
  isBeingCreated,
  isWithout,
  keepsDisk,
  saveRecord,
  type VmRecord,
} from "../vm/record/record.ts";
import { readRecords, type FoundFolder } from "../vm/record/read-records.ts";
import { stopGuest } from "../vm/lifecycle/stop-guest.ts";
import { isMachineId, isVmId } from "../vm/lifecycle/unreadable.ts";
import { WARM_PREFIX } from "../vm/warm/warm-clones.ts";

type ClearResources = Pick<HostResources, "slots" | "cgroups" | "firstVmUid">;

/** Between SIGTERM and SIGKILL to main processes. */
const GRACE_MS = 10_000;
/** A machine that does not answer by then is killed. */
const CONNECT_DEADLINE_MS = 10_000;

/** Goes on past a VM that cannot be cleaned up, and reports it at the end. Resolves with the ids of machines whose record is not understood: their
 *  files are left as they are. */
export async function clearVms(config: HostConfig, log: Logger): Promise<readonly string[]> {
  const { stateFolder, instance, firstVmUid, network } = config;
  // First: where it is not to be done, nothing is.
  const found = await readRecords(join(stateFolder, "vms"), { instance, places: backingPlaces(config) });
  const range = await openHostNetwork({
    ...{ ...network, nameProxy: rootNameProxy(config), edgePeers: [], log },
  });
  const [conntrackFlush, netnsExec] = [
    join(config.nativeFolder, "conntrack-flush"),
    join(config.nativeFolder, "netns-exec"),
  ];
  const { linkPrefix } = network;
  const slots = new Slots({ prefix: instance, linkPrefix, range, ready: 0, conntrackFlush, netnsExec, log });
  const resources = { slots, cgroups: await openCgroups(config.cgroup), firstVmUid };
  const failures: unknown[] = [];
  const left: string[] = [];
  // All at once: each may take its main process' grace.
  await Promise.all(
    found.map((one) =>
      clearVm({ resources, log, left }, one).catch((error: unknown) => void failures.push(error)),
    ),
  );
  // Every process of these users is ours, under any name.
  for (const { identity, name } of await findByUid(uidsOf(resources))) {
    try {
      await killProcess(identity);
      if (name !== undefined) await resources.cgroups.remove(cgroupName({ name }));
    } catch (error) {
      failures.push(error);
    }
  }
  await forgetOthers(instance, []);
  await endNameProxy(config.nameProxyUid);
  await endEdge(config, resources.cgroups);
  await slots.sweep();
  await resources.cgroups.close();
  await removeHostNetwork(network);
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} VMs could not be cleaned up`);
  return left;
}

interface ClearOptions {
  readonly resources: ClearResources;
  readonly log: Logger;
  readonly left: string[];
}

async function clearVm(options: ClearOptions, one: FoundFolder): Promise<void> {
  if (one.found.kind !== "mine") return clearUnknown(options, one);
  const { resources } = options;
  const { record } = one.found;
  if (record.status === "paused") return;
  // A warm clone belongs to no sandbox yet, and control has no row for it.
  if (!isVmId(one.id) || isUnfinished(record)) return releaseResources(resources, record);
  if (hasEnded(record)) return;
  // An arrival without control's decision may run elsewhere, and must not run here. A machine that cannot be
  // stopped keeps its disk as after a power failure.
  const disk = keepsDisk(record);
  if (disk && record.arrival === undefined) await stopMachine(record).catch(() => undefined);
  // Control learns why it has ended, and has what is left of it removed.
  const { waking: _secrets, ...rest } = record;
  const ended = { ...rest, ...endOfHost("its host was taken down"), process: undefined };
  await releaseResources(resources, record, { disk, save: () => saveRecord(ended) });
}

/** Its processes are found by their user. */
async function clearUnknown({ log, left }: ClearOptions, { id, folder, found }: FoundFolder): Promise<void> {
  if (!isMachineId(id)) {
    // A later host process may find a paused sandbox in such a record. Other files of a sandbox are useless
    // without their process; those of a machine include its disk.
    const mayBePaused = isVmId(id) && (found.kind === "unreadable" || found.kind === "newer");
    return !mayBePaused && (isVmId(id) || id.startsWith(WARM_PREFIX)) ? remove(folder) : undefined;
  }
  if (found.kind === "absent" && (await isWithout(join(folder, vmPaths.disk)))) return remove(folder);
  left.push(id);
  log.error({ vm: id, folder }, "the record of a machine is not understood; its files are left as they are");
}

function remove(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true });
}

/** Its request got no answer, and control repeats it or has given up: a record would be in the way. */
function isUnfinished(record: VmRecord): boolean {
  return isBeingCreated(record) && !keepsDisk(record);
}

async function stopMachine(record: VmRecord): Promise<void> {
  if (record.process === undefined) return;
  const signal = AbortSignal.timeout(CONNECT_DEADLINE_MS);
  const live = await adoptClone(record, { deadlineMs: CONNECT_DEADLINE_MS, signal });
  try {
    const main = await mainOf(record, live);
    await stopGuest({ channel: live.channel, main, guestHalt: undefined }, GRACE_MS);
  } finally {
    live.qmp.close();
    live.channel.close("its host is taken down");
  }
}
