// The slots of sandboxes as the kernel has them.

import { namespaces } from "./leftovers.ts";
import { qemuPidOf, type Platform } from "./platform.ts";
import { run } from "./run.ts";

type Owner = Pick<Platform, "state">;

/** The network namespace of a sandbox, by its QEMU process. */
export async function netnsOf(owner: Owner, id: string): Promise<string> {
  return (await run("ip", "netns", "identify", String(await qemuPidOf(owner, id)))).trim();
}

export interface Slot {
  /** Every IPv4 address in it but loopback and the guest's link. */
  readonly addresses: readonly string[];
  /** The machine's end of its link. */
  readonly gateway: string;
}

export async function slotOf(owner: Owner, id: string): Promise<Slot> {
  const netns = await netnsOf(owner, id);
  const listed = await run("ip", "-n", netns, "-o", "-4", "addr");
  const found = [...listed.matchAll(/inet ([\d.]+)/g)].map(([, address]) => address ?? "");
  const route = await run("ip", "-n", netns, "route", "show", "default");
  return {
    addresses: found.filter((address) => !/^(127|169\.254)\./.test(address)),
    gateway: /via ([\d.]+)/.exec(route)?.[1] ?? "",
  };
}

/** Namespaces, links, addresses and tables of this host, counted. */
export async function tracesOf(platform: Pick<Platform, "instance">): Promise<Record<string, number>> {
  const short = platform.instance.replace("skerry-", "sk");
  const lines = async (...command: readonly [string, ...string[]]) => {
    const [program, ...args] = command;
    return (await run(program, ...args)).split("\n").filter((line) => line.includes(short)).length;
  };
  const links = await lines("ip", "-o", "link");
  const addresses = await lines("ip", "-o", "-4", "addr");
  const inPlace = (await namespaces(platform.instance)).length;
  const tables = (await run("nft", "list", "tables")).split(platform.instance.replace("-", "_")).length - 1;
  return { links, addresses, namespaces: inPlace, tables };
}
