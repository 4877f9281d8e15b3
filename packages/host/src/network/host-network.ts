// Prepares the machine before the first slot: an address range for this host, rules between slots and all
// other networks, and forwarding. The claim on the range is an address on the loopback device, labelled with
// the host's name: the kernel gives it to one host only, keeps it over a restart of ours, and forgets it with
// the machine.

import { readFile, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { droppingChains } from "@skerry/contract/hosts/dropping-chains";
import type { Logger } from "pino";
import { runProgram } from "../system/run.ts";
import { defaultRanges, type AddressRange } from "./addresses.ts";
import { ipBatch, loadRules } from "./netns-exec.ts";
import { addressesIn, parseIpv4 } from "./ipv4.ts";
import { removeRootRulesScript, rootRulesScript, type RootNameProxy } from "./root-rules.ts";

export interface HostNetworkOptions {
  /** Name of the nftables table. */
  readonly table: string;
  readonly linkPrefix: string;
  /** Undefined: the first default range, from `seed` on, that no interface of this machine uses. */
  readonly range: AddressRange | undefined;
  readonly seed: number;
  readonly resolverPort: number;
  readonly nameProxy: RootNameProxy;
  readonly edgeUid: number;
  /** Other hosts that the proxy in front of apps may connect to, each IPv4:PORT. */
  readonly edgePeers: readonly string[];
  readonly log: Logger;
}

export class RangeTaken extends Error {
  override readonly name = "RangeTaken";
}

const LIST_DEADLINE_MS = 10_000;
const FORWARDING = "/proc/sys/net/ipv4/ip_forward";

/** Claims the range, loads the machine's rules and turns on forwarding, in this order. Right to repeat. */
export async function openHostNetwork(options: HostNetworkOptions): Promise<AddressRange> {
  const range = await claimRange(options);
  await loadRules(
    rootRulesScript({
      table: options.table,
      linkPrefix: `${options.linkPrefix}-`,
      slotRange: range.cidr,
      resolver: { address: range.resolver, port: options.resolverPort },
      nameProxy: options.nameProxy,
      edgeUid: options.edgeUid,
      edgePeers: options.edgePeers,
    }),
  );
  await tellOfClosedChains(options.log);
  if ((await readFile(FORWARDING, "utf8")).trim() === "0") {
    await writeFile(FORWARDING, "1");
    options.log.info("IPv4 forwarding was off on this machine and is on now, for the egress of sandboxes");
  }
  return range;
}

/** Removes rules and claim. Forwarding stays as it is: others may have come to rely on it. */
export async function removeHostNetwork(
  options: Pick<HostNetworkOptions, "table" | "linkPrefix">,
): Promise<void> {
  await loadRules(removeRootRulesScript(options.table));
  const address = claimedBy(labelOf(options));
  if (address !== undefined) await ipBatch([`addr del ${address}/32 dev lo`]);
}

/** A machine that cannot list its chains serves all the same. */
async function tellOfClosedChains(log: Logger): Promise<void> {
  const chains = await runProgram("nft", ["-j", "list", "chains"], { deadlineMs: LIST_DEADLINE_MS }).then(
    droppingChains,
    () => [],
  );
  if (chains.length === 0) return;
  log.warn({ chains }, "another firewall of this machine may drop what VMs send; see `skerry doctor`");
}

async function claimRange(options: HostNetworkOptions): Promise<AddressRange> {
  const candidates = options.range === undefined ? defaultRanges(options.seed) : [options.range];
  const label = labelOf(options);
  const claimed = claimedBy(label);
  const known = candidates.find((range) => range.resolver === claimed);
  if (known !== undefined) return known;
  if (claimed !== undefined) await ipBatch([`addr del ${claimed}/32 dev lo`]);
  for (const range of candidates) {
    if (isUsed(range, options.linkPrefix)) continue;
    try {
      await ipBatch([`addr add ${range.resolver}/32 dev lo label ${label}`]);
      return range;
    } catch (error) {
      // Another host was faster by a moment; everything else is a fault.
      if (!isUsed(range, options.linkPrefix)) throw error;
    }
  }
  const tried = candidates.map((range) => range.cidr).join(", ");
  throw new RangeTaken(`every address range for sandboxes is in use on this machine: ${tried}`);
}

function labelOf({ linkPrefix }: Pick<HostNetworkOptions, "linkPrefix">): string {
  return `lo:${linkPrefix}`;
}

function claimedBy(label: string): string | undefined {
  return networkInterfaces()[label]?.find(({ family }) => family === "IPv4")?.address;
}

/** Whether an address of the range is on this machine for something other than this host's own slots. */
function isUsed({ network }: AddressRange, linkPrefix: string): boolean {
  const end = network.base + addressesIn(network.prefix);
  return Object.entries(networkInterfaces())
    .filter(([name]) => !name.startsWith(`${linkPrefix}-`))
    .flatMap(([, addresses]) => addresses ?? [])
    .some(({ address }) => {
      const number = parseIpv4(address);
      return number !== undefined && number >= network.base && number < end;
    });
}
