// A guest with much memory that moves to another host on this machine while it writes.

import { freemem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { findSize } from "@skerry/contract/sizes";
import { assets } from "../bench/bench.ts";
import type { Measure } from "../bench/results.ts";
import { Series } from "../bench/series.ts";
import type { Sandbox } from "../packages/sdk/src/skerry.ts";
import { freePort, startPlatform, until } from "../tests/support/platform.ts";
import { joinHost } from "../tests/support/second-host.ts";
import type { Amount } from "./amounts.ts";

/** Both hosts hold the guest for a moment, and the machine needs some, too. */
const MACHINE_NEEDS_MIB = 2_048;
/** For Python itself: commands of a guest of 256 MiB have 143 MiB in all, and one that takes more is killed. */
const INTERPRETER_MIB = 24;
const SETTLE_MS = 3_000;
const TICK_MS = 10;
const MOVED_DEADLINE_MS = 10 * 60_000;

/** Fills half of the guest's memory with itself, writes into it over and over, and notes when it was awake. */
const program = (mbPerS: number, memoryMib: number): string => `
import time
block = bytes(range(256)) * 4096
memory = [bytearray(1 << 20) for _ in range(${Math.floor(memoryMib / 2) - INTERPRETER_MIB})]
ticks = open("/tmp/ticks", "a", buffering=1)
at, written, start = 0, 0, time.monotonic()
while True:
    for _ in range(max(1, ${mbPerS} * ${TICK_MS} // 1000)):
        memory[at][:] = block
        at = (at + 1) % len(memory)
        written += 1
    print(time.time_ns() // 1000000, file=ticks)
    time.sleep(max(0.001, written / ${mbPerS} - (time.monotonic() - start)))
`;

export async function measureLargeMove(
  { largeMove: { size, emulatedSize, writesMbPerS } }: Amount,
  { isEmulated }: { readonly isEmulated: boolean },
): Promise<Measure[]> {
  const name = isEmulated ? emulatedSize : size;
  const memoryMib = findSize(name)?.memory_mib ?? 0;
  const shape = {
    what: `a guest of ${memoryMib} MiB that writes ${writesMbPerS} MB/s stands still while it moves`,
    ...({ unit: "ms", bar: "max ≤ 2000" } as const),
  };
  const neededMib = 2 * memoryMib + MACHINE_NEEDS_MIB;
  const freeMib = Math.floor(freemem() / 1024 ** 2);
  if (freeMib < neededMib)
    return [{ ...shape, samples: [], skipped: `it needs ${neededMib} MiB, and ${freeMib} are free` }];
  const series = new Series(shape);
  const memory = String(memoryMib + 512);
  const listen = `127.0.0.1:${await freePort()}`;
  const env = { SKERRY_WARM_MAX: "0", SKERRY_HOST_LISTEN: listen, SKERRY_VM_MEMORY_MIB: memory };
  const platform = await startPlatform({ assets, env });
  try {
    const second = await joinHost(platform, { env: { SKERRY_VM_MEMORY_MIB: memory } });
    try {
      const { client } = platform;
      const sandbox = await client.sandboxes.create({ template: "base", size: name, timeout: "1h" });
      await sandbox.upload("/root/write.py", program(writesMbPerS, memoryMib));
      await sandbox.execute('(python3 /root/write.py; echo "it ended with $?") > /root/words 2>&1 &');
      await until("the guest writes", () => hasTicked(sandbox), MOVED_DEADLINE_MS);
      const from = (await sandbox.refresh()).info.host_id ?? "";
      await client.hosts.drain(from);
      const isEmpty = async () => (await client.hosts.get(from)).status === "maintenance";
      await until("the host is empty", isEmpty, MOVED_DEADLINE_MS);
      await sleep(SETTLE_MS);
      const { stdout } = await sandbox.execute("cat /tmp/ticks");
      series.add(longestGapMs(stdout) - TICK_MS);
      await sandbox.destroy();
    } catch (error) {
      series.fail(error);
    } finally {
      await second.stop();
    }
  } finally {
    await platform.stop();
  }
  return [series.measure];
}

/** Rejects with what the program said where it has ended. */
async function hasTicked(sandbox: Sandbox): Promise<boolean> {
  const look = "test -s /root/words && cat /root/words; test -s /tmp/ticks && echo ticked; true";
  const { stdout } = await sandbox.execute(look);
  if (stdout !== "" && stdout.trim() !== "ticked")
    throw new Error(`the program in the guest says: ${stdout}`);
  return stdout !== "";
}

function longestGapMs(ticks: string): number {
  const times = ticks.trim().split("\n").map(Number);
  if (times.length < 2) throw new Error(`the guest wrote no ticks: ${ticks.slice(0, 200)}`);
  return times.slice(1).reduce((most, time, index) => Math.max(most, time - (times[index] ?? time)), 0);
}
