// A sandbox that moves to another host on this machine and back, while something in it counts. How long it stands still is told by the
// guest's own clock: the longest time between two ticks, less the pause between ticks.

import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { freePort, startPlatform, until, type Platform } from "../tests/support/platform.ts";
import { joinHost } from "../tests/support/second-host.ts";
import { assets, create, type Bench } from "./bench.ts";
import type { Measure } from "./results.ts";
import { range, Series } from "./series.ts";

const TICK_MS = 10;
const TICKS = `while true; do date +%s%3N >> /tmp/ticks; sleep ${TICK_MS / 1_000}; done`;

export async function measureMove({ scale }: Pick<Bench, "scale">): Promise<Measure[]> {
  // The other host sends VMs back to the first one.
  const listen = `127.0.0.1:${await freePort()}`;
  const platform = await startPlatform({ assets, env: { SKERRY_WARM_MAX: "0", SKERRY_HOST_LISTEN: listen } });
  try {
    return await moveBetween(platform, scale.move.rounds);
  } finally {
    await platform.stop();
  }
}

async function moveBetween(platform: Platform, rounds: number): Promise<Measure[]> {
  const still = new Series({
    what: "a guest of 256 MiB stands still while it moves",
    unit: "ms",
    bar: "max ≤ 2000",
  });
  const whole = new Series({ what: "drain of a host with one sandbox", unit: "ms", bar: "–" });
  const second = await joinHost(platform);
  try {
    const sandbox = await create(platform);
    await sandbox.execute(`(${TICKS}) >/dev/null 2>&1 &`);
    for (const _ of range(rounds)) {
      await longestGapMs(sandbox);
      await whole.time(() => moveAway(platform, sandbox));
      still.add(Math.max(0, (await longestGapMs(sandbox)) - TICK_MS));
    }
    await sandbox.destroy();
  } finally {
    await second.stop();
  }
  return [still.measure, whole.measure];
}

async function moveAway({ client }: Platform, sandbox: Sandbox): Promise<void> {
  const from = (await sandbox.refresh()).info.host_id ?? "";
  await client.hosts.drain(from);
  await until("the host is empty", async () => (await client.hosts.get(from)).status === "maintenance");
  await client.hosts.activate(from);
}

/** Since the last call. */
async function longestGapMs(sandbox: Sandbox): Promise<number> {
  const { stdout } = await sandbox.execute("cat /tmp/ticks; : > /tmp/ticks");
  const ticks = stdout.trim().split("\n").map(Number);
  return Math.max(0, ...ticks.slice(1).map((tick, index) => tick - (ticks[index] ?? tick)));
}
