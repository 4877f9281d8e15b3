// Addresses to which control may connect for an organization. A name is resolved by control, each of its
// addresses is checked, and the connection goes to the address that was checked, so no later answer of a name
// server counts.

import { lookup, Resolver } from "node:dns/promises";
import { BlockList, isIP, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { neverNetworks, privateNetworks } from "@skerry/contract/vms/networks";

/** A receiver that does not take lines, in words for the owner of the app. */
export class ForwardFault extends Error {
  override readonly name = "ForwardFault";
  /** As the receiver asks. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { cause, retryAfterMs }: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(message, { cause });
    this.retryAfterMs = retryAfterMs;
  }
}

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** Addresses that an organization may reach. */
export interface Reach {
  /** Networks that the operator opens, although they are private. */
  readonly privateCidrs: readonly string[];
  /** Addresses of the platform. */
  readonly own: ReadonlySet<string>;
  /** Servers that resolve names; undefined: those of this machine. */
  readonly nameServers?: readonly string[] | undefined;
}

const RESOLVE_MS = 2_000;
const RESOLVE_TRIES = 2;

/** Teredo and others, documentation, and 6to4, which has an IPv4 address in it. */
const reserved6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];
const closed = listOf([...neverNetworks.map(({ cidr }) => cidr), ...privateNetworks, ...reserved6]);
/**
 * Global unicast, of IPv6. All else is loopback, private, link-local, multicast, or has an IPv4 address in
 * it.
 */
const open6 = listOf(["2000::/3"]);

function listOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [network = "", prefix = isIPv4(network) ? "32" : "128"] = cidr.split("/");
    list.addSubnet(network, Number(prefix), isIPv4(network) ? "ipv4" : "ipv6");
  }
  return list;
}

/** Why an organization may not reach the address; undefined: it may. */
export function whyClosed(address: string, { privateCidrs, own }: Reach): string | undefined {
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  if (listOf(privateCidrs).check(address, family)) return undefined;
  const isOpen = !closed.check(address, family) && (family === "ipv4" || open6.check(address, "ipv6"));
  if (!isOpen) return "is a private or reserved address";
  return own.has(address) ? "is an address of this platform" : undefined;
}

/** Addresses of this machine. */
export function addressesOfMachine(): string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
}

/** The address to connect to. Throws `ForwardFault` where one of the host's addresses is closed. */
export async function reachableAddress(host: string, reach: Reach, signal: AbortSignal): Promise<Address> {
  const addresses =
    isIP(host) === 0 ? await resolve(host, reach, signal) : [{ address: host, family: isIP(host) }];
  for (const { address } of addresses) {
    const why = whyClosed(address, reach);
    if (why !== undefined) throw new ForwardFault(`${host} ${why}.`);
  }
  const [first] = addresses;
  if (first === undefined) throw new ForwardFault(`${host} has no address.`);
  return first;
}

/** The same for what the operator has set, which may be anywhere. */
export async function anyAddress(host: string): Promise<Address> {
  try {
    return await lookup(host);
  } catch (cause) {
    throw new ForwardFault(`${host} has no address.`, { cause });
  }
}

/** Asks with a resolver that needs no thread: names that take long would hold up all others. */
async function resolve(host: string, { nameServers }: Reach, signal: AbortSignal): Promise<Address[]> {
  const resolver = new Resolver({ timeout: RESOLVE_MS, tries: RESOLVE_TRIES });
  if (nameServers !== undefined) resolver.setServers(nameServers);
  const cancel = () => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    signal.throwIfAborted();
    return found.flatMap((answer, index) =>
      answer.status === "fulfilled"
        ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 }))
        : [],
    );
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}
