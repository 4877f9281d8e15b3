// What the firewall costs: slots and policies on this machine directly, throughput from a real guest.

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Egress } from "@skerry/contract/vms/egress";
import { AddressRange } from "../packages/host/src/network/addresses.ts";
import { NameProxy } from "../packages/host/src/network/name-proxy.ts";
import { EgressLoader } from "../packages/host/src/network/egress-loader.ts";
import type { Slot } from "../packages/host/src/network/slot.ts";
import { Slots } from "../packages/host/src/network/slots.ts";
import { sinkPort, World } from "../tests/support/world.ts";
import { create, type Bench } from "./bench.ts";
import type { Measure } from "./results.ts";
import { range as countTo } from "./series.ts";

const RANGE = "198.18.240.0/22";
const READY_PAUSE_MS = 300;

export async function measureEgress({ scale }: Bench): Promise<Measure[]> {
  const range = AddressRange.parse(RANGE);
  const native = join(import.meta.dirname, "../dist/native");
  const slots = new Slots({
    ...{ prefix: "skbench", linkPrefix: "skb", range, ready: 2 },
    ...{ conntrackFlush: join(native, "conntrack-flush"), netnsExec: join(native, "netns-exec") },
    log: { warn: () => undefined }, // `drain` throws
  });
  const proxy = new NameProxy({
    ...{
      address: range.resolver,
      port: 10_054,
      uid: 0,
      socket: "/nowhere",
      servers: [],
      program: ["/nowhere"],
      endSilent: () => Promise.resolve(),
    },
    log: { info: () => undefined, warn: () => undefined },
  });
  const names = { proxy, port: 10_054 };
  const rules = new EgressLoader({ range, resolverPort: 10_053, slots, neverCidrs: [], names });
  const { takes, loads: loadCount, slots: manySlots } = scale.egress;
  const taken: Slot[] = [];
  try {
    slots.fill();
    const few = await takeSome(slots, rules, { taken, takes });
    const loads: number[] = [];
    const [slot] = taken;
    if (slot === undefined) throw new Error("no slot was taken");
    for (const round of countTo(loadCount)) {
      await timed(loads, () => rules.replace(slot, policyOf(1_000, round)));
    }
    while (taken.length < manySlots) taken.push(await opened(slots));
    const many = await takeSome(slots, rules, { taken, takes });
    return [
      {
        what: "take a ready slot and load a policy of 100 CIDRs",
        unit: "ms",
        samples: few,
        bar: "median ≤ 10",
      },
      {
        what: `… with ${manySlots} slots on the host`,
        unit: "ms",
        samples: many,
        bar: "median ≤ 1.1 × take a ready slot and load a policy of 100 CIDRs",
      },
      { what: "replace a policy by one of 1,000 CIDRs", unit: "ms", samples: loads, bar: "≤ 50" },
    ];
  } finally {
    for (const slot of taken) await slots.close(slot);
    await slots.drain();
  }
}

/** A guest sends to a sink in the tests' world, with no CIDR and with 1,000 loaded, in turn. */
export async function measureThroughput({ platform, scale }: Bench): Promise<Measure[]> {
  await using world = await World.open();
  void world;
  const sandbox = await create(platform);
  const none: number[] = [];
  const thousand: number[] = [];
  const { deny_cidrs } = policyOf(1_000, 0);
  for (const _ of countTo(scale.egress.streams)) {
    for (const [samples, policy] of [
      [none, { mode: "allow_all" }],
      [thousand, { mode: "allow_all", deny_cidrs }],
    ] as const) {
      await sandbox.setEgress(policy as Parameters<typeof sandbox.setEgress>[0]);
      const run = await sandbox.execute(`python3 -c '${SENDER}'`);
      samples.push(Number(run.stdout));
    }
  }
  await sandbox.destroy();
  return [
    { what: "TCP out of a guest, no CIDRs", unit: "MB/s", samples: none, bar: "–" },
    {
      what: "TCP out of the same guest, 1,000 CIDRs",
      unit: "MB/s",
      samples: thousand,
      bar: "median ≥ 0.9 × TCP out of a guest, no CIDRs",
    },
  ];
}

const SENDER = `import socket, time
s = socket.create_connection(("203.0.113.10", ${sinkPort})); block = bytes(1 << 18); sent = 0; start = time.monotonic()
while time.monotonic() - start < 3: sent += s.send(block)
print(sent / 1e6 / (time.monotonic() - start))`;

/** Takes slots with a pause between, as requests come, so that each is a ready one. */
async function takeSome(
  slots: Slots,
  rules: EgressLoader,
  { taken, takes }: { taken: Slot[]; takes: number },
): Promise<number[]> {
  const samples: number[] = [];
  for (const round of countTo(takes)) {
    await sleep(READY_PAUSE_MS);
    await timed(samples, async () => {
      const slot = await opened(slots);
      taken.push(slot);
      await rules.load(slot, policyOf(100, round));
    });
  }
  return samples;
}

async function opened(slots: Slots): Promise<Slot> {
  const slot = slots.take();
  await slots.open(slot);
  return slot;
}

function policyOf(count: number, seed: number): Egress {
  const cidrs = Array.from(
    { length: count },
    (_, n) => `100.${(seed % 60) + 64}.${n >> 4}.${(n & 15) << 4}/29`,
  );
  return { mode: "allow_all", allow_cidrs: [], deny_cidrs: cidrs, allow_ports: [], dns: false };
}

async function timed(into: number[], work: () => Promise<void>): Promise<void> {
  const startedMs = performance.now();
  await work();
  into.push(performance.now() - startedMs);
}
