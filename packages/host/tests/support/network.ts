// Slots of a test's own: names and addresses that no other test and no host of a user has.

import { pino } from "pino";
import { AddressRange } from "../../src/network/addresses.ts";
import { formatIpv4, parseIpv4 } from "../../src/network/ipv4.ts";
import { Slots, type SlotsOptions } from "../../src/network/slots.ts";
import type { Native } from "./native.ts";

/** Worker processes of the test runner have different ids, and the ranges of two that run at the same time differ: also where their ids are
 *  neighbours. */
const id = process.pid % 4_096;
export const testNumber = id;
/** Of the proxy in front of apps. Nothing else on the machine has it. */
export const testEdgeUid = 1_880_000_000 + id;
/** Users of two proxies. */
export const testEdgeUids = [testEdgeUid, testEdgeUid + 4_096] as const;

export function testRange(offset: 0 | 1 | 2 | 3 = 0): AddressRange {
  // 240.0.0.0/4 is used by nobody, and no guest reaches it; each test process has four /24 of it.
  const block = 4 * id + offset;
  return AddressRange.parse(`240.${Math.floor(block / 256)}.${block % 256}.0/24`);
}

/** Two neighbours in a documentation network: a world for guests must have addresses that they may reach. */
export function testWorld(): {
  readonly host: string;
  readonly world: string;
  readonly prefixLength: 29;
  /** For one more of the machine's own. */
  readonly spare: string;
} {
  const base = parseIpv4("192.0.2.0") ?? 0;
  // The first block has the gateway and the address of some virtual machines that tests run on.
  const block = base + 8 * (1 + (process.pid % 31));
  return {
    host: formatIpv4(block + 1),
    world: formatIpv4(block + 2),
    prefixLength: 29,
    spare: formatIpv4(block + 3),
  };
}

/** `name` tells the slots of one test file from those of another: up to four letters. */
export function testSlotsOptions(
  name: string,
  { netnsExec, conntrackFlush }: Pick<Native, "netnsExec" | "conntrackFlush">,
): SlotsOptions {
  return {
    prefix: `unit${process.pid}-${name}`,
    linkPrefix: `u${id.toString(16)}${name}`,
    range: testRange(),
    ready: 2,
    netnsExec,
    conntrackFlush,
    log: pino({ level: "silent" }),
  };
}

export function testSlots(name: string, native: Pick<Native, "netnsExec" | "conntrackFlush">): Slots {
  return new Slots(testSlotsOptions(name, native));
}
