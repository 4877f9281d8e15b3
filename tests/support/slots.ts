// The slots of sandboxes as the kernel has them.

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
