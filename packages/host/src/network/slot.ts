// Makes and removes one slot in the kernel.

import { readdir, readFile } from "node:fs/promises";
import type { AddressPair } from "./addresses.ts";
import { baseRulesScript } from "./base-rules.ts";
import { GATEWAY_CIDR, GATEWAY_MAC, TAP, UPLINK } from "./guest-link.ts";
import { furnish, ipBatch, ipBatchToEnd, type NetnsExec } from "./netns-exec.ts";

const NETNS_FOLDER = "/run/netns";
const LINKS_FOLDER = "/sys/class/net";

export interface Slot extends NetnsExec {
  readonly number: number;
  readonly netns: string;
  /** Name of this machine's end of the link. */
  readonly link: string;
}

const PARAMETERS = {
  "net.ipv6.conf.all.disable_ipv6": 1,
  "net.ipv6.conf.default.disable_ipv6": 1,
  "net.ipv4.ip_forward": 1,
  "net.ipv4.conf.all.accept_redirects": 0,
  "net.ipv4.conf.all.send_redirects": 0,
  // Refusals go only to the guest whose packet was refused.
  "net.ipv4.icmp_ratelimit": 0,
} as const;

/** Closed from the first moment: the rules are loaded before a link in it is up. The TAP is there before
 *  them, because older kernels refuse rules for a link that is not. */
export async function makeSlot(slot: Slot, addresses: AddressPair, connections: number): Promise<void> {
  const { netns, link } = slot;
  await ipBatch([
    `netns add ${netns}`,
    `link add ${link} type veth peer name ${UPLINK} netns ${netns}`,
    `link set ${link} addrgenmode none`,
    `addr add ${addresses.gateway}/${addresses.prefix} dev ${link}`,
    `link set ${link} up`,
  ]);
  await furnish(slot, {
    parameters: PARAMETERS,
    tap: TAP,
    rules: baseRulesScript(addresses, connections),
  });
  await ipBatch(
    [
      `link set ${TAP} address ${GATEWAY_MAC}`,
      `addr add ${GATEWAY_CIDR} dev ${TAP}`,
      `addr add ${addresses.slot}/${addresses.prefix} dev ${UPLINK}`,
      `link set ${UPLINK} up`,
      `link set ${TAP} up`,
      `route add default via ${addresses.gateway} dev ${UPLINK}`,
    ],
    netns,
  );
}

/** The link goes first: the kernel takes a namespace apart later, and the name must be free when the
 *  number is. A slot that does not exist is no error. */
export async function removeSlot({ netns, link }: Slot): Promise<void> {
  await ipBatchToEnd([`link del ${link}`, `netns del ${netns}`]).catch(async (error: unknown) => {
    if ((await linkNames()).includes(link) || (await namespaceNames()).includes(netns)) throw error;
  });
}

/** Whether no packet ever came out of the slot, so that the kernel has no connection of it. False where
 *  its link is gone and the counter with it. */
export async function isSilent({ link }: Slot): Promise<boolean> {
  const packets = await readFile(`${LINKS_FOLDER}/${link}/statistics/rx_packets`, "utf8").catch(() => "");
  return packets.trim() === "0";
}

export function namespaceNames(): Promise<string[]> {
  return readdir(NETNS_FOLDER).catch(() => []);
}

export function linkNames(): Promise<string[]> {
  return readdir(LINKS_FOLDER).catch(() => []);
}
