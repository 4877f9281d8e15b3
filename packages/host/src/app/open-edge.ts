// The proxy in front of apps, with the VMs, slots and users of this host.

import { join } from "node:path";
import { findSize } from "@skerry/contract/sizes";
import type { Logger } from "pino";
import type { HostConfig } from "../config/config.ts";
import type { Identity } from "../config/identity.ts";
import { Edge, type EdgeOptions } from "../edge/edge.ts";
import { Haproxy } from "../edge/haproxy.ts";
import { proxyFiles } from "../edge/proxy-files.ts";
import { storedDocument } from "../edge/stored-document.ts";
import { allowPeers } from "../network/edge-peers.ts";
import type { AddressRange } from "../network/addresses.ts";
import { publishPorts } from "../network/published-ports.ts";
import type { Slots } from "../network/slots.ts";
import type { VmEngine } from "../vm/engine/engine.ts";
import type { Checks } from "../vm/checks/checks.ts";
import type { Cgroups } from "../vm/qemu/cgroup.ts";

interface Surroundings {
  readonly engine: Pick<VmEngine, "slotOf">;
  readonly checks: Pick<Checks, "isFailing">;
  readonly slots: Pick<Slots, "slot">;
  readonly range: AddressRange;
  readonly cgroups: Cgroups;
  readonly identity: Pick<Identity, "certified">;
  readonly log: Logger;
}

/** The name of its cgroup. */
const CGROUP = "edge";
/** A fifth of what its files suffice for. */
const PER_ADDRESS = 4_000;
/** As much processor and memory as a VM of this size has. */
const SIZE = "shared-cpu-2x";

export function openEdge(config: HostConfig, surroundings: Surroundings): Promise<Edge> {
  const { engine, checks, slots, range, identity, log } = surroundings;
  const door = config.edgeDoor;
  const options: EdgeOptions = {
    perAddress: PER_ADDRESS,
    ...{ folder: edgeFolder(config), listen: config.edgeHttp, uid: config.network.edgeUid, log },
    ...(door !== undefined && {
      door: {
        ...{ listen: door.listen, certified: () => identity.certified },
        allow: (peers) => allowPeers(config.network.table, peers),
      },
    }),
    cgroup: () => cgroupOf(surroundings.cgroups),
    vms: {
      addressOf({ vm, execution_id }) {
        const slot = engine.slotOf(vm, execution_id);
        return slot === undefined ? undefined : range.pair(slot).slot;
      },
      async publish({ vm, execution_id }, ports) {
        const slot = engine.slotOf(vm, execution_id);
        if (slot !== undefined) await publishPorts(slots.slot(slot), ports);
      },
      isFailing: ({ vm, execution_id }) => checks.isFailing(vm, execution_id),
    },
  };
  return Edge.open(options);
}

/** Hosts that its proxy goes on connecting to while this process is started. */
export async function storedPeers(config: HostConfig): Promise<string[]> {
  const document = await storedDocument(edgeFolder(config));
  return Object.values(document?.peers ?? {});
}

/** Ends the proxy of a host that is taken down. */
export async function endEdge(config: HostConfig, cgroups: Cgroups): Promise<void> {
  await new Haproxy(proxyFiles(edgeFolder(config)), config.network.edgeUid, () =>
    Promise.resolve(undefined),
  ).end();
  await cgroups.remove(CGROUP);
}

function edgeFolder({ stateFolder }: HostConfig): string {
  return join(stateFolder, "edge");
}

async function cgroupOf(cgroups: Cgroups): Promise<string | undefined> {
  const size = findSize(SIZE);
  return size === undefined ? undefined : cgroups.create(CGROUP, size);
}
