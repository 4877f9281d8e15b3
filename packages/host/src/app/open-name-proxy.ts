// The settings of this host as its name proxy and the machine's rules about it need them.

import { join } from "node:path";
import { neverNetworks, privateNetworks } from "@skerry/contract/vms/networks";
import type { Logger } from "pino";
import type { HostConfig } from "../config/config.ts";
import type { AddressRange } from "../network/addresses.ts";
import { NameProxy } from "../network/name-proxy.ts";
import type { ExtraCertificates } from "../templates/extra-certificates.ts";
import type { RootNameProxy } from "../network/root-rules.ts";
import { findByUid, killProcess } from "../vm/qemu/process.ts";

const DNS_PORT = 53;

interface Surroundings {
  readonly range: AddressRange;
  readonly certificates: ExtraCertificates | undefined;
  readonly log: Logger;
}

/** Starts nothing yet. The process is another run of this very program. */
export function openNameProxy(config: HostConfig, { range, certificates, log }: Surroundings): NameProxy {
  const { nameProxyPort: port, nameServers: servers } = config.network;
  const path = config.extraCa;
  return new NameProxy({
    ...{ address: range.resolver, port, uid: config.nameProxyUid, servers, log },
    ...(path !== undefined &&
      certificates !== undefined && { extraCa: { path, digest: certificates.digest } }),
    socket: join(config.stateFolder, "names.sock"),
    program: [process.argv[1] ?? "", "names"],
    endSilent: () => endNameProxy(config.nameProxyUid),
  });
}

/** Returns when no process of this user is left. */
export async function endNameProxy(uid: number): Promise<void> {
  for (const { identity } of await findByUid({ first: uid, count: 1 })) await killProcess(identity);
}

export function rootNameProxy({ network, nameProxyUid }: HostConfig): RootNameProxy {
  return {
    port: network.nameProxyPort,
    uid: nameProxyUid,
    neverCidrs: [...neverNetworks.map(({ cidr }) => cidr), ...privateNetworks, ...network.neverCidrs],
    serverPorts: [DNS_PORT, ...network.nameServers.map(({ port }) => port)],
  };
}
